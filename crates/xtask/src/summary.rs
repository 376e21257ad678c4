//! Sums up the reports of test programs.

use std::time::Duration;

use corewise_testing::TEST_DATA;

/// The results of test programs.
#[derive(Debug, Default, PartialEq)]
pub struct TestSummary {
    /// Number of tests that passed.
    pub passed: u64,
    /// Number of tests that failed, and of programs that ended without a report.
    pub failed: u64,
    /// The names of the tests that failed.
    pub failures: Vec<String>,
    /// The names of the tests that were skipped, with the reason if the test gives one.
    pub skips: Vec<(String, Option<String>)>,
}

/// Prefix of the reason in the output of a test that skips itself at run time. Rust's own harness has no such outcome, and counts it as
/// passed.
const SKIPPED: &str = "skipped: ";

impl TestSummary {
    /// Parses a program's output, including that of passing tests (`--show-output`).
    pub fn of_program(name: &str, printed: &str, success: bool) -> Self {
        let (mut summary, mut ended) = (Self::default(), false);
        // The passing test of the current output; the number of tests that skipped themselves.
        let (mut of_passing, mut printing, mut themselves) = (false, None, 0);
        for line in printed.lines() {
            if let Some(counts) = line.strip_prefix("test result: ") {
                summary.passed += count_before(counts, "passed") - themselves;
                summary.failed += count_before(counts, "failed");
                (ended, of_passing, printing, themselves) = (true, false, None, 0);
            } else if let Some((test, outcome)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) {
                summary.take_outcome(test.trim_end(), outcome);
            } else if matches!(line, "successes:" | "failures:") {
                (of_passing, printing) = (line == "successes:", None);
            } else if let Some(test) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
                printing = of_passing.then_some(test);
            } else if let Some((test, why)) = printing.zip(line.strip_prefix(SKIPPED)) {
                summary.skips.push((test.to_owned(), Some(why.to_owned())));
                (printing, themselves) = (None, themselves + 1);
            }
        }
        if summary.failed == 0 && !(success && ended) {
            summary.add_failure(format!("{name} ended without a result: see above"));
        }
        summary
    }

    fn take_outcome(&mut self, test: &str, outcome: &str) {
        if outcome.starts_with("FAILED") {
            self.failures.push(test.to_owned());
        } else if let Some(reason) = outcome.strip_prefix("ignored") {
            let reason = reason.trim_start_matches([',', ' ']);
            self.skips.push((test.to_owned(), (!reason.is_empty()).then(|| reason.to_owned())));
        }
    }

    /// Adds a failure that no test program reports.
    pub fn add_failure(&mut self, what: String) {
        self.failed += 1;
        self.failures.push(what);
    }

    /// Adds other results.
    pub fn add_summary(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.failures.extend(other.failures);
        self.skips.extend(other.skips);
    }

    /// Returns the number of tests skipped for lack of test data, by the variable in their reason. Some have the reason in their name, because
    /// a test program prints only the name of a test skipped by an option.
    pub fn without_data(&self) -> usize {
        let says = |text: &str| text.contains(TEST_DATA);
        self.skips.iter().filter(|(name, reason)| says(name) || reason.as_deref().is_some_and(says)).count()
    }

    /// Returns a line with a program's result. Before it comes the output of failed tests, or all output if the program ended before its
    /// report.
    pub fn of_one(&self, name: &str, printed: &str, took: Duration) -> String {
        let failures = printed.find("\nfailures:\n").map_or(printed, |at| &printed[at + 1..]);
        let failures = if self.failed > 0 { failures } else { "" };
        format!("{failures}{name}: {}, {:.1} s\n", self.format_counts(), took.as_secs_f64())
    }

    /// Returns the names of failed and skipped tests.
    pub fn format_names(&self) -> String {
        let failed = self.failures.iter().map(|name| format!("failed   {name}\n"));
        let skipped = self.skips.iter().map(|(name, reason)| {
            let reason = reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
            format!("skipped  {name}{reason}\n")
        });
        failed.chain(skipped).collect()
    }

    /// Returns the numbers of passed, failed and skipped tests.
    pub fn format_counts(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skips.len())
    }
}

/// Returns the number before a word in "ok. 7 passed; 0 failed; 1 ignored; …".
fn count_before(counts: &str, word: &str) -> u64 {
    let words: Vec<&str> = counts.split([' ', ';']).filter(|part| !part.is_empty()).collect();
    words.windows(2).find(|pair| pair[1] == word).and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passed_failed_and_skipped_are_told_apart() {
        let printed = "running 5 tests\n\
             test a::one ... ok\n\
             test a::two ... ignored, needs COREWISE_TESTDATA\n\
             test three   ... FAILED\n\
             test four ... ok\n\
             test data skipped: set COREWISE_TESTDATA ... ignored\n\
             \n\
             successes:\n\
             \n\
             ---- a::one stdout ----\n\
             begun\n\
             skipped: one cpu\n\
             skipped: said twice\n\
             \n\
             successes:\n\
             \x20   a::one\n\
             \n\
             failures:\n\
             \n\
             ---- three stdout ----\n\
             skipped: what fails is not skipped\n\
             thread 'three' panicked: test result: 9 passed\n\
             \n\
             test result: FAILED. 2 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        let mut summary = TestSummary::of_program("p", printed, false);
        assert_eq!(summary.format_counts(), "1 passed, 1 failed, 3 skipped");
        assert_eq!(summary.without_data(), 2);
        assert_eq!(
            summary.format_names(),
            "failed   three\n\
             skipped  a::two: needs COREWISE_TESTDATA\n\
             skipped  data skipped: set COREWISE_TESTDATA\n\
             skipped  a::one: one cpu\n"
        );
        let good = "test x ... ok\ntest result: ok. 40 passed; 0 failed; 0 ignored; 0 measured\n";
        summary.add_summary(TestSummary::of_program("q", good, true));
        assert_eq!(summary.format_counts(), "41 passed, 1 failed, 3 skipped");
    }

    #[test]
    fn a_program_that_ends_without_a_result_has_failed() {
        let good = "test result: ok. 1 passed; 0 failed; 0 ignored";
        for (printed, success) in [("", true), ("running 3 tests\n", false), (good, false)] {
            let summary = TestSummary::of_program("p", printed, success);
            assert_eq!((summary.failed, summary.failures.len()), (1, 1), "{printed}");
        }
        let other = "test\ntest result\ntesting ... FAILED\nok. 3 passed\n";
        assert_eq!(
            TestSummary::of_program("p", &(other.to_owned() + good), true).format_counts(),
            "1 passed, 0 failed, 0 skipped"
        );
    }
}
