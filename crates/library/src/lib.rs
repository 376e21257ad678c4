//! Places a program's own threads.
