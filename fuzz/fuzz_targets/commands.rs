//! Reads suites and articles: what is accepted can be run.
#![no_main]

use corewise_model::article::Article;
use corewise_model::suite::Suite;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(suite) = Suite::parse(text) {
        for benchmark in &suite.benchmarks {
            assert!(!benchmark.command.is_empty(), "nothing to run");
            let _ = (benchmark.metric(), benchmark.programs());
        }
    }
    let _ = Article::parse(text);
});
