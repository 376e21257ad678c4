//! Names of the kinds of talk in a table of visits.

use corewise_machine::ring::Slots;

use crate::links::What;

/// Returns the name of a kind in the column `kind`: its word on the command line, followed by a hyphen and its
/// parameter ("bandwidth-65536", "channel-64", "queue-padded").
pub fn kind_name(what: What) -> String {
    let word = what.word();
    match what {
        What::Bandwidth { block_bytes } => format!("{word}-{block_bytes}"),
        What::Channel { bound: Some(bound) } => format!("{word}-{bound}"),
        What::Queue { slots } => format!("{word}-{}", slots.word()),
        What::Cas | What::Store | What::Oneway | What::Channel { bound: None } | What::Wakeup => word.to_owned(),
    }
}

/// Parses such a name; `None` if it is unknown.
pub fn kind_of(name: &str) -> Option<What> {
    let what = match name.split_once('-') {
        None => match name {
            "cas" => What::Cas,
            "store" => What::Store,
            "oneway" => What::Oneway,
            "channel" => What::Channel { bound: None },
            "wakeup" => What::Wakeup,
            _ => return None,
        },
        Some(("bandwidth", bytes)) => What::Bandwidth { block_bytes: bytes.parse().ok()? },
        Some(("channel", bound)) => What::Channel { bound: Some(bound.parse().ok()?) },
        Some(("queue", slots)) => What::Queue { slots: Slots::ALL.into_iter().find(|own| own.word() == slots)? },
        Some(_) => return None,
    };
    Some(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_comes_back_from_its_name() {
        let bound = |bound| What::Channel { bound };
        let queues = Slots::ALL.map(|slots| What::Queue { slots });
        let blocks = [64, 65_536].map(|block_bytes| What::Bandwidth { block_bytes });
        let plain = [What::Cas, What::Store, What::Oneway, What::Wakeup, bound(None), bound(Some(1)), bound(Some(64))];
        let all: Vec<What> = plain.into_iter().chain(queues).chain(blocks).collect();
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
