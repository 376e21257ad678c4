//! Services for commands: common options, settings, the store, output, progress, interruption, failures.

pub mod arguments;
pub mod artifact;
pub mod child;

pub mod document;
pub mod failure;
pub mod file_commands;
pub mod interruption;
pub mod keeper;
pub mod keeper_process;
pub mod lock;
pub mod log;
pub mod machine;
pub mod measurement;
pub mod numbers;
pub mod option_values;
pub mod origin;
pub mod output;
pub mod page_data;
pub mod placement;
pub mod progress;
pub mod rules;
pub mod run;
pub mod self_command;
pub mod settings;
pub mod standard_input;
pub mod tip;
pub mod user_store;
pub mod worth;
