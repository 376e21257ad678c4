//! Whole maps of simulated machines.
