//! Finds the metric and the guards in the output of one run.

use std::time::{Duration, Instant};

use corewise_model::sample::{
    DocumentError, LineSearch, OutputSearch, SearchEndedError, find_in_document, list_numbers,
};
use corewise_statistics::quantity::{QuantityError, QuotedQuantity};

/// Maximum time for searching the output of one run.
pub const LONGEST_SEARCH: Duration = Duration::from_secs(10);
/// Maximum time for that search after the budget has ended; enough for most outputs.
pub const LONGEST_LAST_SEARCH: Duration = Duration::from_millis(500);

/// Maximum bytes of an output that is read as a document, give or take a piece of output.
const LARGEST_DOCUMENT: usize = 8 << 20;

/// Result of the search for a metric.
#[derive(Clone, Debug, PartialEq)]
pub enum FoundMetric {
    /// There is no such number; these are some others.
    Nothing(Vec<String>),
    /// The file to search cannot be read.
    Unreadable(String),
    /// The search was ended before it found anything.
    Unknown,
    /// A line matches, but has no quantity.
    Refused(QuantityError),
    /// The document has the name, but no number by it.
    Unusable(DocumentError),
    /// The quantity in the last line that matches, since programs report as they go.
    Quantity(QuotedQuantity),
}

/// Searches of one output for several metrics.
pub struct MetricSearches<'a> {
    searches: Vec<Option<(&'a LineSearch, OutputSearch<'a>)>>,
    spent: Duration,
    longest: &'a dyn Fn() -> Duration,
    /// The output, if a metric is named without an expression, and may be a number of a document.
    document: Option<Vec<u8>>,
}

impl<'a> MetricSearches<'a> {
    /// Creates the searches. `longest` is called repeatedly and returns their maximum total time. A metric without a
    /// search is skipped.
    pub fn new(searches: &'a [Option<LineSearch>], longest: &'a dyn Fn() -> Duration) -> Self {
        let searches = searches.iter().map(|search| search.as_ref().map(|search| (search, OutputSearch::new(search))));
        let searches: Vec<_> = searches.collect();
        let is_named = searches.iter().flatten().any(|(search, _)| search.document_name().is_some());
        Self { searches, spent: Duration::ZERO, longest, document: is_named.then(Vec::new) }
    }

    /// Adds the next bytes of the output.
    pub fn add_output(&mut self, bytes: &[u8]) {
        if self.searches.iter().all(Option::is_none) {
            return;
        }
        if let Some(document) = self.document.as_mut().filter(|document| document.len() < LARGEST_DOCUMENT) {
            document.extend_from_slice(bytes);
        }
        let (spent, longest, began) = (self.spent, self.longest, Instant::now());
        for (_, search) in self.searches.iter_mut().flatten() {
            search.add_bytes(bytes, &|| spent + began.elapsed() >= longest());
        }
        self.spent += began.elapsed();
    }

    /// Returns the result for each metric.
    pub fn finish_searches(self) -> Vec<FoundMetric> {
        let (spent, longest, began) = (self.spent, self.longest, Instant::now());
        let is_over = || spent + began.elapsed() >= longest();
        let document = String::from_utf8_lossy(self.document.as_deref().unwrap_or_default());
        let finish = |(search, output): (&LineSearch, OutputSearch<'_>)| match output.finish_search(&is_over) {
            Err(SearchEndedError) => FoundMetric::Unknown,
            Ok(line) => match line.and_then(|line| search.finder().find_quantity(&line)) {
                None => find_named(search, &document),
                Some(quantity) => quantity.map_or_else(FoundMetric::Refused, FoundMetric::Quantity),
            },
        };
        self.searches.into_iter().map(|search| search.map_or(FoundMetric::Nothing(Vec::new()), finish)).collect()
    }
}

/// Returns the number that a document has by the metric's name.
fn find_named(search: &LineSearch, document: &str) -> FoundMetric {
    let Some(name) = search.document_name() else { return FoundMetric::Nothing(Vec::new()) };
    match find_in_document(document, name) {
        Ok(Some(found)) => FoundMetric::Quantity(found),
        Ok(None) => FoundMetric::Nothing(list_numbers(document)),
        Err(why) => FoundMetric::Unusable(why),
    }
}
