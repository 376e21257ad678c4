//! Services for commands: common options, settings, the store, output, progress, interruption, failures.

pub mod arguments;
pub mod artifact;
pub mod child;

pub mod document;
pub mod embedded;
pub mod failure;
pub mod history;
pub mod interruption;
pub mod itself;
pub mod keeper;
pub mod lock;
pub mod log;
pub mod machine;
pub mod measuring;
pub mod numbers;
pub mod output;
pub mod placing;
pub mod progress;
pub mod rules;
pub mod run;
pub mod settings;
pub mod tip;
pub mod trust;
pub mod values;
pub mod worth;
