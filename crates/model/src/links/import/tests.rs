//! Reading texts of each format, and what is refused.

mod refused;
mod written;

use super::{ImportedLinks, LinkFileFormat, read_links};
use crate::links::TalkWay;

fn imported(text: &str) -> ImportedLinks {
    read_links(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The pairs of the first series: "0-1: 5 6 / 7" for two visits that cpu 0 began and one that cpu 1 began.
fn pairs(imported: &ImportedLinks) -> Vec<String> {
    let list = |costs: &[f64]| costs.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
    let shown = |pair: &crate::links::LinkPair| match pair.back_ns() {
        [] => format!("{}-{}: {}", pair.a, pair.b, list(pair.visits_ns())),
        _ => format!("{}-{}: {} / {}", pair.a, pair.b, list(pair.visits_ns()), list(pair.back_ns()))
            .replace(":  /", ": /"),
    };
    imported.series[0].links.pairs.iter().map(shown).collect()
}

#[track_caller]
fn check(text: &str, format: LinkFileFormat, expected: &[&str]) -> ImportedLinks {
    let imported = imported(text);
    assert_eq!(
        (imported.format, pairs(&imported)),
        (format, expected.iter().map(|&pair| pair.to_owned()).collect()),
        "{text}"
    );
    imported
}

const TRIANGLE: [&str; 3] = ["0-1: 16.5", "0-2: 44.25", "1-2: 46"];

#[test]
fn a_lower_triangle_is_read_however_its_rows_end() {
    let text = ",,\n16.5,,\n44.25,46,\n";
    let ends = [
        text.to_owned(),
        text.replace('\n', "\r\n"),
        text.trim_end().to_owned(),
        text.replace('\n', ",\n"),
        format!("\u{feff}{text}"),
    ];
    for text in ends {
        let read = check(&text, LinkFileFormat::LowerTriangle, &TRIANGLE);
        assert_eq!((read.cpus.to_string().as_str(), read.names_cpus, read.in_cycles), ("0-2", false, false));
        assert_eq!((read.series[0].what, read.series[0].links.possible_pairs), (TalkWay::Cas, 3));
        let rows = "cpus are row numbers, 0-2: the file does not name them";
        let cut = "each row has one empty cell more than there are rows: assumed to be a separator at its end; \
            otherwise the last row is missing";
        assert_eq!(read.remarks, if text.contains(",,,") { vec![cut, rows] } else { vec![rows] }, "{text}");
    }
}

#[test]
fn rows_may_end_at_the_diagonal() {
    for text in
        ["x\n16.5,x\n44.25,46,x\n", "0\n16.5 0\n44.25 46 0", "x,\n16.5,x,\n44.25,46,x,\n", "\"\"\n16.5;\n44.25;46;\n"]
    {
        check(text, LinkFileFormat::LowerTriangle, &TRIANGLE);
    }
    for text in ["\n16.5\n44.25,46\n", "16.5,\n44.25,46,\n", "16.5\n44.25 46"] {
        let read = check(text, LinkFileFormat::LowerTriangle, &TRIANGLE);
        assert!(
            read.remarks.contains(&"the first row is the second cpu's, because it has a cost".to_owned()),
            "{text}"
        );
    }
}

#[test]
fn cells_may_be_parted_by_other_marks() {
    for mark in [";", "\t", " , ", "; "] {
        check(&",,\n16.5,,\n44.25,46,\n".replace(',', mark), LinkFileFormat::LowerTriangle, &TRIANGLE);
    }
    check("x x x\n16.5  x   x\n 44.25 46 x", LinkFileFormat::LowerTriangle, &TRIANGLE);
    check("\tx x x\n\t16.5 x x\n\t44.25 46 x", LinkFileFormat::LowerTriangle, &TRIANGLE);
    check(";;\n16,5;;\n44,25;46;\n", LinkFileFormat::LowerTriangle, &TRIANGLE);
    check("\t57\n57\t\n", LinkFileFormat::FullMatrix, &["0-1: 57"]);
}

#[test]
fn a_matrix_of_both_directions_keeps_them_apart() {
    check(",6,27\n7,,23\n22,26,\n", LinkFileFormat::FullMatrix, &["0-1: 6 / 7", "0-2: 27 / 22", "1-2: 23 / 26"]);
    check("x,6,27\n7,x,-\nnan,N/A,x\n", LinkFileFormat::FullMatrix, &["0-1: 6 / 7", "0-2: 27"]);
    let read = check("x,6,\n,x,23\n22,,x\n", LinkFileFormat::FullMatrix, &["0-1: 6", "0-2: / 22", "1-2: 23"]);
    assert_eq!(read.series[0].links.pairs[1].one_way_ns(), 22.0);
    check(",6,27\n,,23\n,,\n", LinkFileFormat::UpperTriangle, &["0-1: 6", "0-2: 27", "1-2: 23"]);
}

#[test]
fn a_matrix_that_is_mirrored_has_each_pair_once() {
    check(",6.5,27\n6.5,,23\n27,23,\n", LinkFileFormat::FullMatrix, &["0-1: 6.5", "0-2: 27", "1-2: 23"]);
    check(
        ",6.5,27\n6.5,,23\n27,23.5,\n",
        LinkFileFormat::FullMatrix,
        &["0-1: 6.5 / 6.5", "0-2: 27 / 27", "1-2: 23 / 23.5"],
    );
}

#[test]
fn cpus_may_be_named_by_rows_and_columns() {
    let expected = ["2-3: 6 / 7", "2-5: 27 / 22", "3-5: 23 / 26"];
    let rows = ["2,,6,27", "3,7,,23", "5,22,26,"];
    let body = rows.join("\n");
    for header in ["cpu,2,3,5", ",cpu2,cpu3,cpu5", "from\\to,Core 2,Core 3,Core 5", ",2,3,5", "2,3,5"] {
        let read = check(&format!("{header}\n{body}\n"), LinkFileFormat::NamedMatrix, &expected);
        assert!(read.names_cpus);
        let guess = "the first row and the first column are assumed to be the cpus' numbers: 2,3,5";
        assert_eq!(read.remarks, if header == ",2,3,5" { vec![guess] } else { vec![] }, "{header}");
    }
    check(&body, LinkFileFormat::NamedMatrix, &expected);
    check("2,3,5\n,6,27\n7,,23\n22,26,\n", LinkFileFormat::NamedMatrix, &expected);
    let [first, second, third] = rows;
    check(&format!("cpu,2,3,5\n{third}\n{first}\n{second}\n"), LinkFileFormat::NamedMatrix, &expected);
    check("CPU,5,2,3\n3,23,7,\n2,27,,6\n5,,22,26\n", LinkFileFormat::NamedMatrix, &expected);
    check(
        "    2    3    5\n2   x    6   27\n3   7    x   23\n5  22   26    x\n",
        LinkFileFormat::NamedMatrix,
        &expected,
    );
}

#[test]
fn a_triangle_with_names_does_not_tell_who_began() {
    for text in ["cpu,0,1,2\n0,,,\n1,5,,\n2,6,7,\n", "cpu 0 1 2\n0\n1 5\n2 6 7\n", "0,,,\n1,5,,\n2,6,7,\n"] {
        check(text, LinkFileFormat::NamedMatrix, &["0-1: 5", "0-2: 6", "1-2: 7"]);
    }
}

#[test]
fn a_matrix_of_costs_is_not_taken_for_one_with_names() {
    let text = ",50,40\n50,,70\n40,70,\n";
    check(text, LinkFileFormat::FullMatrix, &["0-1: 50", "0-2: 40", "1-2: 70"]);
    check("0,50,60\n50,0,70\n60,70,0\n", LinkFileFormat::FullMatrix, &["0-1: 50", "0-2: 60", "1-2: 70"]);
    check("0,1,57\n1,0,58\n57,58,0\n", LinkFileFormat::FullMatrix, &["0-1: 1", "0-2: 57", "1-2: 58"]);
}

/// The first table is the one in c2clat's README, cut to four cpus.
#[test]
fn the_table_of_c2clat_is_read() {
    let text = " CPU    0    1    2    3\n   0    0   92   66   62\n   1   92    0   50   54\n   2   66   50    0   48\n   3   62   54   48    0\n";
    let expected = ["0-1: 92", "0-2: 66", "0-3: 62", "1-2: 50", "1-3: 54", "2-3: 48"];
    let read = check(text, LinkFileFormat::C2clat, &expected);
    assert_eq!((read.series[0].what, read.names_cpus), (TalkWay::Store, true));
    assert_eq!(read.remarks.len(), 1);
    assert!(read.remarks[0].contains("with -w it measures compare-and-swap"), "{:?}", read.remarks);
    check(" CPU   10   11\n  10    0   52\n  11   52    0\n", LinkFileFormat::C2clat, &["10-11: 52"]);
    let plot = "reset\nset autoscale fix\nset title \"Inter-core, one-way\"\n$data << EOD\n    0   92   66\n   92    0   50\n   66   50    0\nEOD\nplot '$data' matrix with image\n";
    let read = check(plot, LinkFileFormat::C2clat, &["0-1: 92", "0-2: 66", "1-2: 50"]);
    assert!(!read.names_cpus);
}

#[test]
fn the_table_of_pingpong_is_read() {
    let title = "avg latency to communicate a modified line from one core to another\ntimes are in ns\n\n";
    let table = "          3       4       6\n 0:    30.5    31.0    32.5\n 3:            33.0     inf\n 4:                    35.0\n\n";
    for text in [format!("{title}{table}"), table.to_owned()] {
        let read = check(&text, LinkFileFormat::PingPong, &["0-3: 30.5", "0-4: 31", "0-6: 32.5", "3-4: 33", "4-6: 35"]);
        assert_eq!(read.cpus.to_string(), "0,3,4,6");
        assert!(read.remarks.contains(&"1 of 6 pairs are unknown".to_owned()), "{:?}", read.remarks);
    }
    check("   1   2   3\n0: 5 6 7\n1: 8", LinkFileFormat::PingPong, &["0-1: 5", "0-2: 6", "0-3: 7", "1-2: 8"]);
}

#[test]
fn of_a_description_by_mctop_the_latencies_are_read() {
    let text = "#machine #HWCs 3 #Nodes 1 SMT 1\n0 0 0\n0 1 28\n0 2 88\n1 0 28\n1 1 0\n1 2 88\n2 0 88\n2 1 88\n2 2 0\n#Mem_latencies 1\n0 0 201\n1 0 202\n";
    let read = check(text, LinkFileFormat::Mctop, &["0-1: 28", "0-2: 88", "1-2: 88"]);
    assert!(read.in_cycles && read.names_cpus);
    assert_eq!(read.remarks.len(), 2);
    assert!(read.remarks[0].contains("cycles"), "{:?}", read.remarks);
}

#[test]
fn columns_of_pairs_are_found_by_their_names() {
    let headers =
        ["a,b,latency_ns", "cpu1,cpu2,ns", "CPUA,CPUB,LATENCY", "from,to,median_ns", "Source,Target,one_way_ns"];
    let more = ["core_a,core_b,latency (ns)", "core1,core2,latency_ns_med", "i,j,mean", "core 0,core 1,Latency [ns]"];
    for header in headers.into_iter().chain(more) {
        let read =
            check(&format!("{header}\n0,4,20\n4,0,22\n4,7,30\n"), LinkFileFormat::Pairs, &["0-4: 20 / 22", "4-7: 30"]);
        assert_eq!((read.cpus.to_string().as_str(), read.names_cpus), ("0,4,7", true));
    }
    let wide =
        "ping_core,pong_core,ping_numa,mean_latency,median_latency,max_latency\n0,1,0,21,20,99\n1,0,0,23,22,99\n";
    check(wide, LinkFileFormat::Pairs, &["0-1: 20 / 22"]);
    check("latency;cpu_b;cpu_a\n20;4;0\n", LinkFileFormat::Pairs, &["0-4: 20"]);
}

#[test]
fn round_trips_are_halved() {
    for header in ["a,b,rtt_ns", "cpu1,cpu2,round_trip", "from,to,Round trip time (ns)"] {
        check(&format!("{header}\n0,1,57\n"), LinkFileFormat::Pairs, &["0-1: 28.5"]);
    }
    check("a,b,rtt,one_way_ns\n0,1,57,28\n", LinkFileFormat::Pairs, &["0-1: 28"]);
}

#[test]
fn pairs_without_a_header_are_read_unless_they_could_be_a_matrix() {
    check("0,1,57.5\n1,0,58\n", LinkFileFormat::Pairs, &["0-1: 57.5 / 58"]);
    let six = "0,1,5\n0,2,6\n1,0,7\n1,2,8\n2,0,9\n2,1,10\n";
    check(six, LinkFileFormat::Pairs, &["0-1: 5 / 7", "0-2: 6 / 9", "1-2: 8 / 10"]);
    check("0,1,57\n1,0,58\n57,58,0\n", LinkFileFormat::FullMatrix, &["0-1: 1", "0-2: 57", "1-2: 58"]);
}

#[test]
fn several_rows_of_a_pair_are_its_visits() {
    let text = "kind,a,b,first,visit,ns\ncas,0,1,0,0,50\ncas,0,1,1,0,52\nstore,0,1,0,0,30\ncas,0,1,0,1,51\nchannel-64,2,0,2,0,90\n";
    let read = check(text, LinkFileFormat::Visits, &["0-1: 50 51 / 52"]);
    let whats: Vec<TalkWay> = read.series.iter().map(|series| series.what).collect();
    assert_eq!(whats, [TalkWay::Cas, TalkWay::Store, TalkWay::Channel { bound: Some(64) }]);
    assert_eq!(read.series[1].links.pairs[0].visits_ns(), [30.0]);
    assert_eq!((read.series[2].links.pairs[0].b, read.series[2].links.pairs[0].back_ns()), (2, &[90.0][..]));
    assert_eq!(read.remarks, ["6 of 9 pairs are unknown"]);
}

#[test]
fn equal_visits_of_both_cpus_are_two_in_a_list() {
    let text = "kind,a,b,first,visit,ns\ncas,0,1,0,0,50\ncas,0,1,1,0,50\n";
    check(text, LinkFileFormat::Visits, &["0-1: 50 / 50"]);
    check("from,to,ns\n0,1,50\n1,0,50\n", LinkFileFormat::Pairs, &["0-1: 50 / 50"]);
}

#[test]
fn samples_of_macos_are_visits() {
    let text = "# Info: Clock: CNTVCT_EL0\n# Info: New core: 8200, index  0\n   0,  1,    8200, 4100,     38.45 ns,  38.45,   0.00,    3.87 GHz, 3.87, 0.00,    3.87, 3.87, 0.00\n# Info: New core: 2, index  3\n   1,  0,    4100, 8200,     39.00 ns,  38.45,   3.87 GHz, 3.87, 3.87, 3.87\n   1,  0,    4100, 8200,     39.25 ns,  38.45,   3.87 GHz, 3.87, 3.87, 3.87\n";
    let read = check(text, LinkFileFormat::Samples, &["4100-8200: 39 39.25 / 38.45"]);
    assert_eq!(read.cpus.to_string(), "4100,8200");
    let bare: String = text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    assert_eq!(imported(&bare), read);
}

#[test]
fn comments_and_empty_lines_are_passed_over() {
    check("# measured at night\n\na,b,ns\n# cpu 0\n0,1,5\n\n0,2,6\n", LinkFileFormat::Pairs, &["0-1: 5", "0-2: 6"]);
}

#[test]
fn zeros_and_a_cpu_with_itself_are_left_out_and_counted() {
    let read =
        check("a,b,ns\n0,0,3\n0,1,0\n0,2,5\n1,2,0\n2,1,6\n2,3,0\n", LinkFileFormat::Pairs, &["0-2: 5", "1-2: / 6"]);
    let expected = [
        "2 of 6 pairs are unknown",
        "3 of 5 cells are 0, which is impossible: left out, so the cost of cpus 0 and 1, of 2 and 3 is unknown",
        "1 cell is of a cpu with itself: left out",
    ];
    assert_eq!(read.remarks, expected);
    let own = imported("7,6,5\n6,7,5\n5,6,8\n").remarks;
    assert!(own.contains(&"3 cells are of a cpu with itself: left out".to_owned()), "{own:?}");
}

#[test]
fn a_coarse_clock_is_named_by_its_steps() {
    let list = |count: usize, cost: &dyn Fn(usize) -> f64| {
        let rows = (0..count).map(|index| format!("{},{},{}\n", index / 64, 100 + index % 64, cost(index)));
        format!("a,b,ns\n{}", rows.collect::<String>())
    };
    let coarse =
        |text: &str| imported(text).remarks.into_iter().filter(|remark| remark.contains("coarse")).collect::<Vec<_>>();
    let expected = "only 4 different values in 120 cells, 5.2 apart on average: a coarse clock, or rounded numbers";
    assert_eq!(coarse(&list(120, &|index| 5.2 * (1 + index % 4) as f64)), [expected]);
    let expected = "all 120 cells have the same value: a coarse clock, or rounded numbers";
    assert_eq!(coarse(&list(120, &|_| 20.0)), [expected]);
    let none: [&str; 0] = [];
    assert_eq!(coarse(&list(120, &|index| 50.0 + index as f64 * 0.37)), none, "all different");
    assert_eq!(coarse(&list(2000, &|index| 40.0 + 0.4 * (index % 60) as f64)), none, "steps of 1 %");
    assert_eq!(coarse(&list(8, &|index| if index < 4 { 20.0 } else { 90.0 + index as f64 })), none, "few, but of few");
}

#[test]
fn every_format_has_its_own_words() {
    use LinkFileFormat::*;
    let all = [LowerTriangle, UpperTriangle, FullMatrix, NamedMatrix, C2clat, PingPong, Mctop, Pairs, Visits, Samples];
    let words: std::collections::BTreeSet<&str> = all.into_iter().map(LinkFileFormat::format_name).collect();
    assert_eq!(words.len(), all.len());
}
