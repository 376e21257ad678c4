//! Reads suites and articles: what is accepted can be run.
#![no_main]

use corewise_model::article::Article;
use corewise_model::suite::BenchmarkSuite;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(suite) = BenchmarkSuite::parse(text) {
        for benchmark in &suite.benchmarks {
            assert!(!benchmark.command.is_empty(), "nothing to run");
            let _ = (benchmark.deciding_metric(), benchmark.needed_programs());
        }
    }
    let _ = Article::parse(text);
});
