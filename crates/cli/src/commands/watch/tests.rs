//! Screens and keys, without a terminal.
