//! Log of rules without room for their processes: one line when it begins and one when it is over.

use std::collections::BTreeMap;
use std::time::Duration;

use corewise_model::keep::{MAX_HELD_THREADS, WaitingProcess};

/// Time without a waiting process after which a shortage is over, so that short-lived processes do not fill the log.
const CALM: Duration = Duration::from_secs(60);

/// The rules with waiting processes, and when one was last seen to wait.
#[derive(Debug, Default)]
pub struct CrowdingLog {
    last_seen: BTreeMap<String, Duration>,
}

impl CrowdingLog {
    /// Takes the processes that wait now; returns the news as sentences.
    pub fn take_news(&mut self, waiting: &BTreeMap<u32, WaitingProcess>, now: Duration) -> Vec<String> {
        let mut news = Vec::new();
        let mut first_of_rules = BTreeMap::new();
        for (process, waiting) in waiting {
            first_of_rules.entry(&waiting.rule).or_insert((process, waiting));
        }
        for (rule, (process, waiting)) in first_of_rules {
            if self.last_seen.insert(rule.clone(), now).is_none() {
                news.push(describe_start(*process, waiting));
            }
        }
        self.last_seen.retain(|rule, at| {
            let is_over = now.saturating_sub(*at) >= CALM;
            if is_over {
                news.push(format!("rule {rule}: no process waits for room any more"));
            }
            !is_over
        });
        news
    }
}

fn describe_start(process: u32, waiting: &WaitingProcess) -> String {
    let WaitingProcess { rule, name, charged_to, threads, .. } = waiting;
    let user = &charged_to.name;
    format!(
        "rule {rule}: {name} ({process}) of {user} is not held: there is no room for its {threads} threads. At most {MAX_HELD_THREADS} are held; \
         the list of rules shows all that wait"
    )
}

#[cfg(test)]
mod tests {
    use corewise_model::keep::ChargedUser;

    use super::*;

    #[test]
    fn a_crowd_is_logged_once_when_it_comes_and_once_when_it_has_gone() {
        let waiting = |process: u32, rule: &str| {
            let charged_to = ChargedUser { name: "eve".into(), is_system: false };
            let (name, since) = ("matched".into(), Duration::ZERO);
            (process, WaitingProcess { start_ticks: 1, name, rule: rule.into(), charged_to, threads: 5_000, since })
        };
        let mut log = CrowdingLog::default();
        let mut news = |second: u64, waiting: &[(u32, WaitingProcess)]| {
            log.take_news(&waiting.iter().cloned().collect(), Duration::from_secs(second))
        };
        let first = news(0, &[waiting(7, "db"), waiting(8, "db")]);
        assert_eq!(first.len(), 1);
        assert!(first[0].starts_with("rule db: matched (7) of eve is not held: there is no room for its 5000 threads"));
        // Others come and go for an hour.
        for second in 1..3_600 {
            let waits = [waiting(second as u32, "db")];
            assert!(news(second, if second % 59 == 0 { &waits } else { &[] }).is_empty(), "{second}");
        }
        assert_eq!(news(3_600, &[waiting(9, "web")]).len(), 1, "another rule");
        assert_eq!(news(3_659, &[waiting(9, "web")]), ["rule db: no process waits for room any more"]);
        assert_eq!(news(3_719, &[waiting(7, "db")]).len(), 2);
    }
}
