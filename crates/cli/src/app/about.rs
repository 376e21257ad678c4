//! The texts of `corewise --help`.

/// The program in a sentence.
pub const ABOUT: &str = "On which CPUs should this program run, and does it matter at all?";
/// The same for `--help`.
#[cfg(not(feature = "measuring"))]
pub const LONG_ABOUT: &str = ABOUT;
/// The same for `--help`.
#[cfg(feature = "measuring")]
pub const LONG_ABOUT: &str = "On which CPUs should this program run, and does it matter at all?

Without a command, corewise surveys this machine: what its CPUs are, how they differ, and what that means.";

/// The end of `--help`.
#[cfg(not(feature = "measuring"))]
pub const EXAMPLES: &str = "This build has only the commands that keep placements in force.";
/// The end of `--help`.
#[cfg(feature = "measuring")]
pub const EXAMPLES: &str = "Examples:
  corewise                       survey this machine (30 s up to 32 cpus)
  corewise --quick               the same in 5 s, with wider uncertainty
  corewise topology              packages, nodes, caches, cores and cpus
  corewise place 'all - core:0'  the cpus that this selects, in every tool's notation
  corewise try -- ./app          which placement of ./app wins, if any
  corewise run --on llc:0 -- ./app   run ./app on the cpus of the first last-level cache
  corewise tail --explain        how long each cpu stalls, and what causes it
  corewise links                 the cost of talking between any two cpus, and groups of cpus
  corewise memory                latency and bandwidth of memory, for each cpu
  corewise fleet survey --slurm  which machines of a cluster are slow
  corewise history compare 3 7   the changes between two surveys
  corewise doctor                gaps: what cannot be measured here, and why

Exit status:
  0 done   1 try: not decided   2 wrong usage   3 not permitted, or not available here
  4 internal error   130 interrupted, partial results were printed";
