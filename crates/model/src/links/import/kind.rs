//! Names of the kinds of talk in a table of visits.

use corewise_machine::ring::RingSlots;

use crate::links::TalkWay;

/// Returns the name of a kind in the column `kind`: its word on the command line, followed by a hyphen and its
/// parameter ("bandwidth-65536", "channel-64", "queue-padded").
pub fn kind_name(what: TalkWay) -> String {
    let word = what.word();
    match what {
        TalkWay::Bandwidth { block_bytes } => format!("{word}-{block_bytes}"),
        TalkWay::Channel { bound: Some(bound) } => format!("{word}-{bound}"),
        TalkWay::Queue { slots } => format!("{word}-{}", slots.word()),
        TalkWay::Cas | TalkWay::Store | TalkWay::Oneway | TalkWay::Channel { bound: None } | TalkWay::Wakeup => {
            word.to_owned()
        }
    }
}

/// Parses such a name; `None` if it is unknown.
pub fn kind_of(name: &str) -> Option<TalkWay> {
    let what = match name.split_once('-') {
        None => match name {
            "cas" => TalkWay::Cas,
            "store" => TalkWay::Store,
            "oneway" => TalkWay::Oneway,
            "channel" => TalkWay::Channel { bound: None },
            "wakeup" => TalkWay::Wakeup,
            _ => return None,
        },
        Some(("bandwidth", bytes)) => TalkWay::Bandwidth { block_bytes: bytes.parse().ok()? },
        Some(("channel", bound)) => TalkWay::Channel { bound: Some(bound.parse().ok()?) },
        Some(("queue", slots)) => TalkWay::Queue { slots: RingSlots::ALL.into_iter().find(|own| own.word() == slots)? },
        Some(_) => return None,
    };
    Some(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_comes_back_from_its_name() {
        let bound = |bound| TalkWay::Channel { bound };
        let queues = RingSlots::ALL.map(|slots| TalkWay::Queue { slots });
        let blocks = [64, 65_536].map(|block_bytes| TalkWay::Bandwidth { block_bytes });
        let plain = [
            TalkWay::Cas,
            TalkWay::Store,
            TalkWay::Oneway,
            TalkWay::Wakeup,
            bound(None),
            bound(Some(1)),
            bound(Some(64)),
        ];
        let all: Vec<TalkWay> = plain.into_iter().chain(queues).chain(blocks).collect();
        for &what in &all {
            assert_eq!(kind_of(&kind_name(what)), Some(what), "{}", kind_name(what));
        }
        let names: std::collections::BTreeSet<String> = all.iter().map(|&what| kind_name(what)).collect();
        assert_eq!(names.len(), all.len(), "two kinds share a name");
    }

    #[test]
    fn other_words_are_no_kind() {
        for word in ["", "CAS", "cas-1", "bandwidth", "bandwidth-", "bandwidth-x", "queue", "queue-loose", "channel--1"]
        {
            assert_eq!(kind_of(word), None, "{word}");
        }
    }
}
