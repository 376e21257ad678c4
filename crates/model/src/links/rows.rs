//! Pairs as JSON: a row for each first cpu, with the second ones as a cpu list, so that a map of millions of pairs is
//! hardly larger than its numbers.

use std::fmt;

use corewise_machine::CpuSet;
use schemars::JsonSchema;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::LinkPair;
use super::map::{LinkSeries, MOST_BYTES};

/// Pairs with the same lower cpu.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct PairRow {
    /// The lower cpu of all these pairs.
    a: u32,
    /// The higher cpus, one for each pair.
    b: CpuSet,
    /// For each pair the visits begun by `a`, in order of time, in nanoseconds: a number, or a list unless there is
    /// exactly one.
    visits_ns: Vec<VisitList>,
    /// The same for the visits begun by the other cpu; absent if the whole row has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    back_ns: Vec<VisitList>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum VisitList {
    One(f64),
    Several(Vec<f64>),
}

impl VisitList {
    fn from_visits(visits: &[f64]) -> Self {
        if let [visit] = visits { Self::One(*visit) } else { Self::Several(visits.to_vec()) }
    }

    fn into_visits(self) -> Vec<f64> {
        match self {
            Self::One(visit) => vec![visit],
            Self::Several(visits) => visits,
        }
    }
}

impl PairRow {
    /// Creates the row of pairs of one cpu in rising order.
    fn from_pairs(pairs: &[LinkPair]) -> Self {
        let has_back = pairs.iter().any(|pair| !pair.back_ns().is_empty());
        let back_ns = pairs.iter().filter(|_| has_back).map(|pair| VisitList::from_visits(pair.back_ns()));
        Self {
            a: pairs[0].a,
            b: pairs.iter().map(|pair| pair.b).collect(),
            visits_ns: pairs.iter().map(|pair| VisitList::from_visits(pair.visits_ns())).collect(),
            back_ns: back_ns.collect(),
        }
    }

    /// Adds the pairs to others; the error describes an invalid row.
    fn unfold_into(self, pairs: &mut Vec<LinkPair>) -> Result<(), &'static str> {
        let Self { a, b: others, visits_ns, back_ns } = self;
        let count = others.len();
        if visits_ns.len() != count || !matches!(back_ns.len(), 0) && back_ns.len() != count {
            return Err("a row of pairs needs visits for each of its cpus");
        }
        let mut back = back_ns.into_iter().map(VisitList::into_visits);
        let sides = others.iter().zip(visits_ns.into_iter().map(VisitList::into_visits));
        pairs.extend(sides.map(|(b, there)| LinkPair::of_both(a, b, there, back.next().unwrap_or_default())));
        Ok(())
    }
}

/// Writes pairs; consecutive pairs of one cpu in rising order form a row.
pub(super) fn serialize<S: Serializer>(pairs: &[LinkPair], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(pairs.chunk_by(|one, next| one.a == next.a && one.b < next.b).map(PairRow::from_pairs))
}

/// Reads pairs in rows; refuses more than a map can have.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<LinkPair>, D::Error> {
    deserializer.deserialize_seq(WeighedList { unfold: PairRow::unfold_into, bytes: size_in_bytes })
}

/// Reads the series of a map; refuses more than a map can have.
pub(super) fn read_series<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<LinkSeries>, D::Error> {
    deserializer.deserialize_seq(WeighedList {
        unfold: |one: LinkSeries, all| {
            all.push(one);
            Ok(())
        },
        bytes: |series| series.iter().map(|one| size_in_bytes(&one.links.pairs) + size_in_bytes(&one.held_out)).sum(),
    })
}

fn size_in_bytes(pairs: &[LinkPair]) -> usize {
    pairs.iter().map(|pair| LinkPair::size_in_bytes(pair.visits_ns().len(), pair.back_ns().len())).sum()
}

/// A list of elements that each unfold into several; the memory of each addition is checked at once.
struct WeighedList<W, T> {
    unfold: fn(W, &mut Vec<T>) -> Result<(), &'static str>,
    bytes: fn(&[T]) -> usize,
}

impl<'de, W: Deserialize<'de>, T> Visitor<'de> for WeighedList<W, T> {
    type Value = Vec<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut written: A) -> Result<Vec<T>, A::Error> {
        let (mut all, mut bytes) = (Vec::new(), 0);
        while let Some(element) = written.next_element::<W>()? {
            let before = all.len();
            (self.unfold)(element, &mut all).map_err(A::Error::custom)?;
            bytes += (self.bytes)(&all[before..]);
            if bytes > MOST_BYTES {
                return Err(A::Error::custom(format_args!(
                    "its pairs would take more than {MOST_BYTES} bytes of memory"
                )));
            }
        }
        all.shrink_to_fit();
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use crate::links::{LinkFindings, LinkPair};

    fn links(pairs: Vec<LinkPair>) -> LinkFindings {
        LinkFindings { possible_pairs: 10, pairs, gaps: Vec::new() }
    }

    #[test]
    fn pairs_of_one_cpu_are_a_row_and_come_back_in_their_order() {
        let both = |a, b, there: &[f64], back: &[f64]| LinkPair::of_both(a, b, there.to_vec(), back.to_vec());
        let pairs = vec![
            both(0, 1, &[20.5], &[]),
            both(0, 2, &[30.0, 31.0], &[32.0]),
            both(0, 7, &[], &[40.0]),
            both(1, 2, &[50.0], &[]),
            both(0, 3, &[60.0], &[]),
        ];
        let text = serde_json::to_string(&links(pairs.clone())).unwrap();
        insta::assert_snapshot!(text, @r#"{"pairs":[{"a":0,"b":"1,2,7","visits_ns":[20.5,[30.0,31.0],[]],"back_ns":[[],32.0,40.0]},{"a":1,"b":"2","visits_ns":[50.0]},{"a":0,"b":"3","visits_ns":[60.0]}],"possible_pairs":10,"gaps":[]}"#);
        assert_eq!(serde_json::from_str::<LinkFindings>(&text).unwrap().pairs, pairs);
    }

    #[test]
    fn what_would_take_too_much_memory_is_refused_in_one_list_or_in_several() {
        let rows = |count: usize, ns: &str| {
            let row = |a| format!(r#"{{"a":{a},"b":"1000-1999","visits_ns":[{}]}}"#, vec![ns; 1000].join(","));
            format!("[{}]", (0..count).map(row).collect::<Vec<_>>().join(","))
        };
        let links = |rows: &str| format!(r#"{{"pairs":{rows},"possible_pairs":3,"gaps":[]}}"#);
        // 32 bytes a pair of one visit, 144 a pair of two.
        assert_eq!(serde_json::from_str::<LinkFindings>(&links(&rows(500, "1"))).unwrap().pairs.len(), 500_000);
        let error = serde_json::from_str::<LinkFindings>(&links(&rows(950, "[1,2]"))).unwrap_err();
        assert!(error.to_string().contains("bytes of memory"), "{error}");
        let series = format!(r#"{{"what":{{"kind":"cas"}},"links":{}}}"#, links(&rows(500, "[1,2]")));
        let mut series: Vec<Result<Vec<crate::links::map::LinkSeries>, _>> = [1, 2]
            .map(|count| {
                let text = format!("[{}]", vec![&series[..]; count].join(","));
                super::read_series(&mut serde_json::Deserializer::from_str(&text))
            })
            .into();
        assert!(series.pop().unwrap().is_err() && series.pop().unwrap().is_ok());
    }

    #[test]
    fn rows_without_a_number_for_each_pair_are_refused() {
        for row in [
            r#"{"a":0,"b":"1-3","visits_ns":[1,2]}"#,
            r#"{"a":0,"b":"1-2","visits_ns":[1,2],"back_ns":[1]}"#,
            r#"{"a":0,"b":"1","visits_ns":[null]}"#,
        ] {
            let text = format!(r#"{{"pairs":[{row}],"possible_pairs":3,"gaps":[]}}"#);
            assert!(serde_json::from_str::<LinkFindings>(&text).is_err(), "{row}");
        }
    }
}
