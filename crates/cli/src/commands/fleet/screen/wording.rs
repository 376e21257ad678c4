//! Words for deviations, chances and reasons.

use corewise_model::fleet::FleetQuantity;
use corewise_model::fleet::causes::NodeCause;
use corewise_model::fleet::conclude::DeviatingNode;
use corewise_model::fleet::outlook::{CLEARLY_SLOW, ProofOutlook};

use crate::draw::number::{format_brief, format_count, format_digits, format_whole};
use crate::draw::printable::{make_printable, printable_prefix};

/// From this logarithm of an e-value on, the chance is only bounded: 1 in a million.
const MOST_LOG: f64 = 13.8;
/// Maximum columns of a setting's value.
const LONGEST_VALUE: usize = 40;
/// Maximum number of causes that are named in a line.
const MOST_CAUSES: usize = 3;
/// Words for a change above zero and below.
const AMOUNTS: [&str; 2] = ["more", "less"];

/// A function that describes a change of a quantity.
pub type ChangeWording = fn(FleetQuantity, f64) -> String;

/// Describes a change: "7.0 % slower", "1.2 points more", "25.0 % less".
pub fn describe_deviation(quantity: FleetQuantity, change: f64) -> String {
    let words = match quantity {
        FleetQuantity::Speed | FleetQuantity::SlowestCpu => ["slower", "faster"],
        _ => AMOUNTS,
    };
    describe_change(quantity, change, words)
}

/// Describes how much farther from each other visits are: "3.1 % more".
pub fn describe_spread(quantity: FleetQuantity, change: f64) -> String {
    describe_change(quantity, change, AMOUNTS)
}

fn describe_change(quantity: FleetQuantity, change: f64, words: [&str; 2]) -> String {
    let word = if change < 0.0 { words[1] } else { words[0] };
    if quantity.is_difference_judged() {
        return format!("{} points {word}", format_brief(change.abs()));
    }
    match change {
        change if change >= 1.0 => format!("{}x as much", format_brief(1.0 + change)),
        change => format!("{} % {word}", format_brief(100.0 * change.abs())),
    }
}

/// Describes the interval of a change in the change's direction: "5.1 to 9.0 %", "at least 5.1 %".
pub fn describe_interval(node: &DeviatingNode) -> String {
    let (factor, unit) = if node.quantity.is_difference_judged() { (1.0, "points") } else { (100.0, "%") };
    let number = |change: f64| format_brief(factor * change * node.change.signum());
    match (node.at_least, node.at_most) {
        (Some(least), Some(most)) => format!("{} to {} {unit}", number(least), number(most)),
        (Some(least), None) => format!("at least {} {unit}", number(least)),
        (None, Some(most)) => format!("at most {} {unit}", number(most)),
        (None, None) => String::new(),
    }
}

/// Describes the chance that a node like its peers shows such evidence: "1 in 12,000".
pub fn describe_chance(log_evidence: f64) -> String {
    match log_evidence {
        log if log >= MOST_LOG => "under 1 in a million".to_owned(),
        log if log < 1.0 => "–".to_owned(),
        log => {
            let size = 10.0_f64.powf((log / std::f64::consts::LN_10).floor() - 1.0).max(1.0);
            format!("1 in {}", format_whole(((log.exp() / size).floor() * size) as u64))
        }
    }
}

/// Describes the facts that differ from a node's peers: "governor powersave (peers: performance)".
pub fn describe_causes(causes: &[NodeCause]) -> String {
    let value = |text: &str| printable_prefix(&make_printable(text), LONGEST_VALUE);
    let describe = |cause: &NodeCause| {
        let meaning = cause.meaning.as_ref().map(|meaning| format!(": {meaning}")).unwrap_or_default();
        format!("{} {} (peers {}){meaning}", value(&cause.what), value(&cause.own), value(&cause.peers))
    };
    let mut described: Vec<String> = causes.iter().take(MOST_CAUSES).map(describe).collect();
    if causes.len() > MOST_CAUSES {
        described.push(format!("and {}", format_count(causes.len() - MOST_CAUSES, "other setting")));
    }
    described.join("; ")
}

/// Describes a node in a sentence, without a full stop.
pub fn describe_node(node: &DeviatingNode) -> String {
    let interval = describe_interval(node);
    let interval = if interval.is_empty() { String::new() } else { format!(" ({interval})") };
    let visits = format_count(node.visits, "visit");
    let change = describe_deviation(node.quantity, node.change);
    let chance = describe_chance(node.log_evidence);
    let causes = describe_causes(&node.causes);
    let causes = if causes.is_empty() { String::new() } else { format!("; {causes}") };
    let name = make_printable(&node.node);
    format!("{name}, {}: {change}{interval} in {visits}, by chance {chance}{causes}", node.quantity)
}

/// Words for the visits and the proof of an outlook.
pub struct OutlookWords {
    visits_of_node: &'static str,
    proven: &'static str,
    is_slower: &'static str,
    visits_of_closest: &'static str,
}

/// Words for nodes that are worse than their peers.
pub const SLOW_WORDS: OutlookWords = OutlookWords {
    visits_of_node: "a node",
    proven: "any single one",
    is_slower: "is",
    visits_of_closest: "of it and its peers",
};

/// Words for nodes that changed between two fleets.
pub const CHANGE_WORDS: OutlookWords = OutlookWords {
    visits_of_node: "a node in each fleet",
    proven: "any single change",
    is_slower: "became",
    visits_of_closest: "of it and its peers in each fleet",
};

/// Describes what a proof would take.
pub fn describe_outlook(outlook: &ProofOutlook, words: &OutlookWords) -> Vec<String> {
    let (visits, of_node) = (format_count(outlook.visits, "visit"), words.visits_of_node);
    let reach = outlook.is_out_of_reach().then(|| {
        format!(
            "That says little: {visits} {of_node} cannot prove {}, at least {} are needed.",
            words.proven, outlook.least_visits
        )
    });
    let slower = format!("one that {} {} % slower", words.is_slower, format_brief(100.0 * CLEARLY_SLOW));
    let enough = match outlook.enough_visits {
        Some(enough) if enough > outlook.visits => {
            Some(format!("About {} {of_node} would prove {slower}.", format_count(enough, "visit")))
        }
        _ => None,
    };
    let closest = outlook.closest.as_ref().map(|closest| {
        let (name, of_closest) = (make_printable(&closest.node), words.visits_of_closest);
        match closest.more_visits {
            Some(more) => format!(
                "Closest to a proof is {name}: about {} {of_closest} would decide, if they are like those so far.",
                format_count(more, "more visit")
            ),
            None => format!("Closest to a proof is {name}, but its visits so far point to no proof."),
        }
    });
    reach.into_iter().chain(enough).chain(closest).collect()
}

/// Returns the reason for Slurm, without characters that a shell or Slurm would read.
pub fn drain_reason(node: &DeviatingNode) -> String {
    let at_least = node.at_least.map(|least| format!(", at least {}", describe_deviation(node.quantity, least)));
    let cause = node.causes.first().map(|cause| format!("; {} {}", cause.what, cause.own)).unwrap_or_default();
    let reason = format!(
        "corewise: {} {}{} than its peers, {} visits{cause}",
        node.quantity,
        describe_deviation(node.quantity, node.change),
        at_least.unwrap_or_default(),
        node.visits
    );
    let is_safe = |c: char| c.is_ascii_alphanumeric() || " .,:;%-+/()".contains(c);
    printable_prefix(&reason.chars().filter(|c| is_safe(*c)).collect::<String>(), 160)
}

/// Returns true if Slurm could have a node of this name: one from a file of hosts may have a user or a port.
pub fn is_slurm_name(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// Formats a value in its quantity's unit.
pub fn format_value(quantity: FleetQuantity, value: f64) -> String {
    format!("{} {}", format_digits(value, 3), quantity.unit())
}
