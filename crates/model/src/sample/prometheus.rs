//! Pages in Prometheus' text format: <https://prometheus.io/docs/instrumenting/exposition_formats/>.
//!
//! A line is `name{label="value",…} value [timestamp]`, or a comment. Other lines are skipped: a malformed page of
//! another program must not end a session.

use std::borrow::Cow;
use std::str::FromStr;

/// Names and values.
type SeriesLabels<'a> = Vec<(&'a str, Cow<'a, str>)>;

/// Selects series by their name and some of their labels; several that match are added up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesSelector {
    name: String,
    labels: Vec<(String, String)>,
}

impl FromStr for SeriesSelector {
    type Err = String;

    /// Parses `name` or `name{label="value",…}`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, labels, rest) = parse_series(text.trim())
            .ok_or_else(|| format!("\"{text}\" is no series: name or name{{label=\"value\"}}"))?;
        if !rest.is_empty() {
            return Err(format!("\"{text}\": \"{rest}\" follows the series"));
        }
        let labels = labels.into_iter().map(|(name, value)| (name.to_owned(), value.into_owned())).collect();
        Ok(Self { name: name.to_owned(), labels })
    }
}

impl SeriesSelector {
    /// Returns the sum of the series of this name in a page; the error is a value that is not a number. `None` if there
    /// is no such series.
    pub fn sum_series(&self, page: &str) -> Option<Result<f64, String>> {
        let mut sum = None;
        for (_, text) in self.matching_lines(page, "") {
            match text.parse::<f64>() {
                Ok(value) if value.is_finite() => *sum.get_or_insert(0.0) += value,
                _ => return Some(Err(text.to_owned())),
            }
        }
        sum.map(Ok)
    }

    /// Returns the buckets of the histogram of this name, `name_bucket{le="…"}`, added up over its other labels.
    pub fn sum_buckets(&self, page: &str) -> HistogramBuckets {
        let bucket = |(labels, text): (SeriesLabels<'_>, &str)| {
            let bound: f64 = labels.iter().find(|(name, _)| *name == "le")?.1.parse().ok()?;
            Some((bound, text.parse::<f64>().ok().filter(|count| count.is_finite() && *count >= 0.0)?))
        };
        let mut found: Vec<(f64, f64)> =
            self.matching_lines(page, "_bucket").filter_map(bucket).filter(|(bound, _)| !bound.is_nan()).collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        found.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
            }
            is_same
        });
        HistogramBuckets(found)
    }

    /// Returns the labels and the value of each line with this name and ending.
    fn matching_lines<'a>(
        &'a self,
        page: &'a str,
        ending: &'a str,
    ) -> impl Iterator<Item = (SeriesLabels<'a>, &'a str)> {
        // Most lines belong to other series: they are skipped by their prefix.
        let of_name = move |line: &'a str| line.strip_prefix(self.name.as_str())?.starts_with(ending).then_some(line);
        page.lines().map(str::trim_start).filter_map(of_name).filter_map(move |line| {
            let (name, labels, rest) = parse_series(line)?;
            let is_it = name.len() == self.name.len() + ending.len()
                && self
                    .labels
                    .iter()
                    .all(|(name, value)| labels.iter().any(|(other, has)| name == other && value == has));
            Some((labels, rest.split_whitespace().next()?)).filter(|_| is_it)
        })
    }
}

/// Splits a text at its first series: its name, its labels, and the rest.
fn parse_series(text: &str) -> Option<(&str, SeriesLabels<'_>, &str)> {
    let is_name = |character: char| character.is_ascii_alphanumeric() || "_:.-".contains(character);
    let end = text.find(|character| !is_name(character)).unwrap_or(text.len());
    let (name, mut rest) = text.split_at(end);
    if name.is_empty() {
        return None;
    }
    let mut labels = Vec::new();
    if let Some(inside) = rest.trim_start().strip_prefix('{') {
        rest = inside.trim_start();
        while !rest.starts_with('}') {
            let (label, after) = rest.split_once('=')?;
            let (value, after) = parse_quoted(after.trim_start().strip_prefix('"')?)?;
            labels.push((label.trim(), value));
            rest = after.trim_start();
            match rest.strip_prefix(',') {
                Some(next) => rest = next.trim_start(),
                None if rest.starts_with('}') => {}
                None => return None,
            }
        }
        rest = &rest[1..];
    }
    Some((name, labels, rest.trim()))
}

/// Reads a text up to its closing quotation mark, resolving the escapes \\, \" and \n, and the rest.
fn parse_quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let end = text.find(['"', '\\'])?;
    if text[end..].starts_with('"') {
        return Some((Cow::Borrowed(&text[..end]), &text[end + 1..]));
    }
    let mut value = text[..end].to_owned();
    let mut rest = text[end..].chars();
    while let Some(character) = rest.next() {
        match character {
            '"' => return Some((Cow::Owned(value), rest.as_str())),
            '\\' => match rest.next()? {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

/// A histogram: upper bounds in rising order, each with the number of values up to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistogramBuckets(Vec<(f64, f64)>);

impl HistogramBuckets {
    /// Returns true without buckets.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the increase since an earlier look; `None` if a count went backwards or the bounds differ.
    pub fn difference_since(&self, before: &Self) -> Option<Self> {
        let added = self
            .0
            .iter()
            .zip(&before.0)
            .map(|(now, then)| (now.0 == then.0 && now.1 >= then.1).then_some((now.0, now.1 - then.1)));
        added.collect::<Option<_>>().filter(|_| self.0.len() == before.0.len()).map(Self)
    }

    /// Returns the number of values.
    pub fn value_count(&self) -> f64 {
        self.0.last().map_or(0.0, |(_, count)| *count)
    }

    /// Returns a quantile, from 0 to 1: linear within its bucket, as Prometheus' `histogram_quantile`; the highest
    /// finite bound if it is above that. `None` without values.
    pub fn bucket_quantile(&self, quantile: f64) -> Option<f64> {
        let (count, mut below, mut from) = (self.value_count(), 0.0, 0.0);
        if count <= 0.0 {
            return None;
        }
        let rank = quantile * count;
        for (bound, at_most) in &self.0 {
            if *at_most >= rank && *at_most > below {
                if bound.is_infinite() {
                    return Some(from);
                }
                let from = if below == 0.0 && *bound <= 0.0 { *bound } else { from };
                return Some(from + (bound - from) * ((rank - below) / (at_most - below)).clamp(0.0, 1.0));
            }
            (below, from) = (at_most.max(below), *bound);
        }
        Some(from).filter(|from| from.is_finite())
    }
}
