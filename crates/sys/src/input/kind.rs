//! Kinds of files that are read, with the largest size of each: the one list of them.

use std::fmt::Write as _;

const MIB: u64 = 1 << 20;

/// The largest JSON file that is read, unpacked, in bytes.
pub const JSON_BYTES: u64 = 256 * MIB;

/// Defines the kinds of files and their properties.
macro_rules! input_kinds {
    ($($kind:ident: $name:literal, $bytes:expr, $limits:literal;)*) => {
        /// A kind of file that is read. Opening a file needs one, so the table of readers is complete.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum InputKind {
            $(#[doc = $name] $kind,)*
        }

        impl InputKind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// Returns the name in the table of readers.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// Returns the size of the largest file that is read, in bytes.
            pub const fn most_bytes(self) -> u64 {
                match self { $(Self::$kind => $bytes,)* }
            }

            /// Describes the limits besides the size.
            pub const fn limits(self) -> &'static str {
                match self { $(Self::$kind => $limits,)* }
            }
        }
    };
}

input_kinds! {
    Suite: "suite (`try --suite`)", MIB, "";
    Services: "services and their load (`try --parts`)", MIB, "";
    Simulation: "simulated effects (`try --simulate`)", MIB, "";
    MetricFile: "file that a program writes its metrics to (`try --metric-file`)", 16 * MIB, "";
    Article: "article (`article FILE`)", MIB, "";
    StepDocument: "result of an article's step (`article`)", JSON_BYTES, "";
    MachineFile: "machine file (`--machine FILE.toml`)", MIB, "";
    MachineArchive: "recording of a machine (`--machine FILE`)", 256 * MIB, "512 MiB unpacked, of which 96 MiB are kept; 2,000,000 entries; hwloc XML: 8 MiB, 400,000 elements, no DTD of its own; pasted text: 16 MiB";
    NotationText: "text of another tool (`place --from`)", MIB, "standard input too";
    MachineFolderFile: "file in a folder that is a recording (`--machine FOLDER`)", 32 * MIB, "text behind the limit is left out; no link is followed";
    LinkMap: "map of links (`links import`, `--simulate`)", JSON_BYTES, "text that comes to 128 MiB of memory, and so do its pairs";
    LinkTable: "matrix or table of another tool (`links import`)", 48 * MIB, "4,194,304 numbers, pairs that come to 128 MiB of memory";
    MemoryTable: "output of `mlc` or `numactl -H` (`memory --import`)", MIB, "";
    TalkGraph: "talk graph (`talk --plan`)", 48 * MIB, "100,000 threads and edges; a table or a matrix: 4,096 threads";
    StallRecording: "recording of stalls (`tail --replay`)", JSON_BYTES, "as much unpacked, text that comes to 128 MiB of memory";
    WatchRecording: "recording of moments (`watch --replay`)", 512 * MIB, "read a moment at a time, each of 16 MiB that come to 128 MiB of memory, 4,000,000 moments";
    ReportPage: "page with results (`history import`)", 64 * MIB, "all results together unpack to 256 MiB";
    Rules: "rules (`keep`)", MIB, "1,000 rules";
    PlacementProof: "proven placement (`corewise::proven`)", MIB, "refused if others may have written it";
    KeeperState: "state of `keep run` (`keep-BOOT.json`)", 64 * MIB, "text that comes to 128 MiB of memory";
    TrustList: "contents that the user accepted (`trusted`)", MIB, "";
    FleetHosts: "list of hosts (`fleet --hosts`)", 16 * MIB, "100,000 hosts";
    FleetResult: "result of a job on a node (`fleet`)", 16 * MIB, "a visit: 4 KiB";
    FleetReports: "visits of a fleet (`fleet add`)", 256 * MIB, "4 KiB a visit";
    WorkloadLines: "lines of JSON (`workload pipeline`)", 256 * MIB, "64 KiB a line";
    WorkloadPicture: "picture (`workload image`)", 256 * MIB, "as many points as the workload takes";
    WorkloadMesh: "mesh (`workload raymesh`)", 2048 * MIB, "memory grows with the file: the workload's own work";
}

/// Returns the table of all kinds, in Markdown.
pub fn describe_input_kinds() -> String {
    let mut table = "| kind | largest | besides |\n|---|--:|---|\n".to_owned();
    for kind in InputKind::ALL {
        let mebibytes = kind.most_bytes() / MIB;
        let _ = writeln!(table, "| {} | {mebibytes} MiB | {} |", kind.name(), kind.limits());
    }
    table
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const BEGIN: &str = "<!-- readers: `cargo xtask schema` writes this table -->\n";
    const END: &str = "<!-- end of readers -->";

    #[test]
    fn a_matrix_that_may_be_read_may_be_imported() {
        let imported = corewise_model::links::import::MAXIMUM_BYTES as u64;
        assert_eq!(InputKind::LinkTable.most_bytes(), imported);
    }

    /// With `COREWISE_WRITE_DOCS` the page gets the table instead.
    #[test]
    fn the_table_of_readers_in_the_documentation_is_that_of_the_program() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/security.md");
        let text = std::fs::read_to_string(&page).unwrap();
        let (before, rest) = text.split_once(BEGIN).expect("the page has the table's beginning");
        let (table, after) = rest.split_once(END).expect("the page has the table's end");
        if std::env::var_os("COREWISE_WRITE_DOCS").is_some() {
            std::fs::write(&page, [before, BEGIN, &describe_input_kinds(), END, after].concat()).unwrap();
        } else {
            assert_eq!(table, describe_input_kinds(), "docs/security.md is old: cargo xtask schema");
        }
    }

    #[test]
    fn no_kind_but_those_of_workloads_and_streams_takes_more_than_256_mib() {
        let large = InputKind::ALL.iter().filter(|kind| kind.most_bytes() > JSON_BYTES);
        assert_eq!(large.collect::<Vec<_>>(), [&InputKind::WatchRecording, &InputKind::WorkloadMesh]);
    }
}
