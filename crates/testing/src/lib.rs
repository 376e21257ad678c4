//! What tests of several crates share: how many random cases they run, and where the data is that is not in the repository.

use std::path::{Path, PathBuf};

/// Variable by which tests run all of their random cases: "all".
const CASES: &str = "COREWISE_CASES";
/// Variable with the folder of test data.
pub const TEST_DATA: &str = "COREWISE_TESTDATA";
/// Variable that says whether missing test data is a failure.
const REQUIRE_TEST_DATA: &str = "COREWISE_REQUIRE_TESTDATA";
/// Divisor of the number of random cases in the quick tests.
const QUICK_SHARE: usize = 5;

/// Returns how many of a test's random cases to run: all of them with `COREWISE_CASES=all`, which `.ci/run` sets, otherwise a fifth, at least
/// one.
pub fn count_cases(all: usize) -> usize {
    share_cases(all, std::env::var(CASES).ok().as_deref())
}

fn share_cases(all: usize, cases: Option<&str>) -> usize {
    if cases == Some("all") { all } else { all.div_ceil(QUICK_SHARE) }
}

/// Returns a folder of the test data, looked for in `COREWISE_TESTDATA`, or in `../shared/data` beside the repository; an error says what is
/// missing, in words for a skipped test.
pub fn find_test_data(folder: &str, content: &str) -> Result<PathBuf, String> {
    let data = match std::env::var_os(TEST_DATA) {
        Some(data) => PathBuf::from(data),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
    };
    let found = data.join(folder);
    if found.is_dir() {
        Ok(found)
    } else {
        Err(format!("no {content}; set {TEST_DATA} to the folder that holds {folder}/"))
    }
}

/// Returns true if missing test data is a failure: `COREWISE_REQUIRE_TESTDATA` is 1.
pub fn requires_test_data() -> bool {
    is_required(std::env::var(REQUIRE_TEST_DATA).ok().as_deref())
}

fn is_required(value: Option<&str>) -> bool {
    value == Some("1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_cases_are_run_if_all_are_asked_for() {
        assert_eq!([1, 2, 100].map(|all| share_cases(all, Some("all"))), [1, 2, 100]);
        assert_eq!([0, 1, 2, 100].map(|all| share_cases(all, None)), [0, 1, 1, 20]);
    }

    #[test]
    fn test_data_is_required_by_its_own_variable() {
        assert!(is_required(Some("1")));
        assert!(!is_required(Some("0")) && !is_required(None));
    }

    #[test]
    fn missing_data_is_named_with_its_variable() {
        let why = find_test_data("no such folder", "such files").unwrap_err();
        assert_eq!(why, "no such files; set COREWISE_TESTDATA to the folder that holds no such folder/");
    }
}
