//! What many test programs report, line by line, summed up.

/// The results of all test programs of a run.
#[derive(Debug, Default, PartialEq)]
pub struct Summary {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
    /// Tests that were skipped.
    pub skipped: u64,
    /// The names of the tests that failed.
    pub failures: Vec<String>,
    /// The names of the tests that were skipped, and why; no reason where the test gives none.
    pub skips: Vec<(String, Option<String>)>,
}

/// What a reason contains when the test data is what is missing: the name of the variable that points to it.
const TEST_DATA: &str = "COREWISE_TESTDATA";

impl Summary {
    /// Takes in a line as test programs print it: "test NAME ... ignored, REASON", or "test result: …".
    pub fn read(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("test ") else { return };
        if let Some(counts) = rest.strip_prefix("result: ") {
            self.passed += count(counts, "passed");
            self.failed += count(counts, "failed");
            self.skipped += count(counts, "ignored");
            return;
        }
        let Some((name, outcome)) = rest.split_once(" ... ") else { return };
        let name = name.trim_end().to_owned();
        if outcome.starts_with("FAILED") {
            self.failures.push(name);
        } else if let Some(reason) = outcome.strip_prefix("ignored") {
            let reason = reason.trim_start_matches([',', ' ']);
            self.skips.push((name, (!reason.is_empty()).then(|| reason.to_owned())));
        }
    }

    /// The tests that were skipped for want of the test data. Some say so in their name, because the name is all that a
    /// test program prints of a test that it was told to skip.
    pub fn without_data(&self) -> usize {
        let says = |text: &str| text.contains(TEST_DATA);
        self.skips.iter().filter(|(name, reason)| says(name) || reason.as_deref().is_some_and(says)).count()
    }

    /// The names of what failed and what was skipped, then the counts on the last line.
    pub fn words(&self) -> String {
        let mut words = String::new();
        for name in &self.failures {
            words.push_str(&format!("failed   {name}\n"));
        }
        for (name, reason) in &self.skips {
            let reason = reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
            words.push_str(&format!("skipped  {name}{reason}\n"));
        }
        words + &format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// The number before a word in "ok. 7 passed; 0 failed; 1 ignored; …".
fn count(counts: &str, word: &str) -> u64 {
    let words: Vec<&str> = counts.split([' ', ';']).filter(|part| !part.is_empty()).collect();
    words.windows(2).find(|pair| pair[1] == word).and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(lines: &str) -> Summary {
        let mut summary = Summary::default();
        lines.lines().for_each(|line| summary.read(line));
        summary
    }

    #[test]
    fn results_of_several_programs_are_summed_up() {
        let summary = summary(
            "running 3 tests\n\
             test a::one ... ok\n\
             test a::two ... ignored, needs COREWISE_TESTDATA\n\
             test three   ... FAILED\n\
             thread 'three' panicked: test result: 9 passed\n\
             test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
             test data skipped: set COREWISE_TESTDATA ... ignored\n\
             test result: ok. 40 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 1.00s\n",
        );
        assert_eq!((summary.passed, summary.failed, summary.skipped), (41, 1, 2));
        assert_eq!(summary.without_data(), 2);
        assert_eq!(
            summary.words(),
            "failed   three\n\
             skipped  a::two: needs COREWISE_TESTDATA\n\
             skipped  data skipped: set COREWISE_TESTDATA\n\
             41 passed, 1 failed, 2 skipped"
        );
    }

    #[test]
    fn nothing_is_read_from_other_lines() {
        assert_eq!(summary("test\ntest result\ntesting ... FAILED\nok. 3 passed\n\n"), Summary::default());
    }
}
