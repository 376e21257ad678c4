//! `cargo xtask schema`: writes the files of crates/cli/schema from the types, and the table of readers in docs/security.md.

use anyhow::Result;
use xtask::cargo_command;

/// Tests that compare a page or files with the types, or write them: package and name.
const TESTS: [(&str, &str); 2] = [("corewise-sys", "the_table_of_readers"), ("corewise-cli", "the_schema_files")];

/// Writes the files if `is_writing`; returns false if one is out of date otherwise.
pub fn run(is_writing: bool) -> Result<bool> {
    for (package, name) in TESTS {
        let mut test = cargo_command();
        test.args(["test", "--quiet", "--package", package, "--lib", name]);
        if is_writing {
            test.env("COREWISE_WRITE_DOCS", "1");
        }
        if !test.status()?.success() {
            return Ok(false);
        }
    }
    Ok(true)
}
