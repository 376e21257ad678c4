//! What is refused, and what is said then.

use crate::links::import::{ImportError, MAXIMUM_BYTES, MOST_CPUS, read_links};

fn refusal(text: &str) -> String {
    let error = read_links(text).expect_err(text);
    let lines = text.lines().count().max(1);
    assert!(error.line_number().is_none_or(|line| (1..=lines).contains(&line)), "{error}");
    error.to_string()
}

#[test]
fn what_is_no_matrix_says_what_it_is() {
    insta::assert_snapshot!(refusal(" \r\n\n"), @"the file has no rows: use the file that the other tool wrote");
    insta::assert_snapshot!(refusal("# only\n# comments\n"), @"the file has no rows: use the file that the other tool wrote");
    insta::assert_snapshot!(refusal("\n16.5\0,3"), @"line 2 contains a NUL character, so this is not UTF-8 text: use the tool's CSV or text file, saved as UTF-8");
    insta::assert_snapshot!(refusal("\u{feff} {\"series\": []}"), @"JSON cannot be imported: a corewise map needs no import, and for another tool use its matrix or table");
    insta::assert_snapshot!(refusal("Dear reader,\nhere are the numbers\n"), @r#"line 1, "Dear reader", is neither a row of numbers nor a header that names two columns of cpus and one of latencies, such as a,b,latency_ns"#);
    insta::assert_snapshot!(refusal("node_a,node_b,watts\n0,1,5\n"), @r#"line 1, "node_a node_b watts", is neither a row of numbers nor a header that names two columns of cpus and one of latencies, such as a,b,latency_ns"#);
    insta::assert_snapshot!(refusal("a,b,latency_us\n0,1,5\n"), @r#"line 1, "a b latency_us", is neither a row of numbers nor a header that names two columns of cpus and one of latencies, such as a,b,latency_ns"#);
}

#[test]
fn what_the_tool_printed_on_the_terminal_is_told_from_its_file() {
    let console = "Num cores: 2\nUsing RDTSC to measure time: false\n\n       0       1   \n  0\n  1  576±6 \n\nMin  latency: 576.0ns ±11.5 cores: (1,0)\n";
    insta::assert_snapshot!(refusal(console), @r#"line 1, "Num cores: 2", is the tool's terminal output, with rulers and units: use the output of `core-to-core-latency --csv`"#);
    insta::assert_snapshot!(refusal(console.split_once("\n\n").unwrap().1), @r#"line 3, "1  576±6", is the tool's terminal output, with rulers and units: use the output of `core-to-core-latency --csv`"#);
    insta::assert_snapshot!(refusal("\u{1b}[1m  30\u{1b}[0m"), @r#"line 1, "\u{1b}[1m  30\u{1b}[0m", is the tool's terminal output, with rulers and units: use the output of `core-to-core-latency --csv`"#);
}

#[test]
fn cells_that_are_no_costs_are_told_with_their_place() {
    insta::assert_snapshot!(refusal(",,\n16.5,,\n44.25,4 6,\n"), @r#"line 3, column 2: "4 6" is not a number: correct it, or leave the cell empty if the cost is unknown"#);
    insta::assert_snapshot!(refusal(",,\n16.5,,\n44.25,-46,\n"), @r#"line 3, column 2: "-46" is negative: leave the cell empty if the cost is unknown"#);
    insta::assert_snapshot!(refusal(",5\n1e999,\n"), @r#"line 2, column 1: "1e999" is infinite or too large: leave the cell empty if the cost is unknown"#);
    insta::assert_snapshot!(refusal("a,b,ns\n0,1,5\n0,x,5\n"), @r#"line 3: "x" is not a cpu: expected a number from 0 to 65535"#);
    insta::assert_snapshot!(refusal("a,b,ns\n0,70000,5\n"), @r#"line 2: "70000" is not a cpu: expected a number from 0 to 65535"#);
    insta::assert_snapshot!(refusal("kind,a,b,first,visit,ns\ncas,0,1,2,0,5\n"), @"line 2: the cpu that began is 2, but the pair is 0 and 1: name one of them");
    insta::assert_snapshot!(refusal("kind,a,b,first,visit,ns\nmutex,0,1,0,0,5\n"), @r#"line 2: unknown kind "mutex"; the kinds are cas, store, oneway, bandwidth-BYTES, channel, channel-BOUND, queue-packed, queue-padded, wakeup"#);
    insta::assert_snapshot!(refusal("cpu,0,1\n0,,5\nb,6,\n"), @r#"line 3: "b" is not a cpu: expected a number from 0 to 65535"#);
    insta::assert_snapshot!(refusal("#m #HWCs 2 #Nodes 1\n0 1 fast\n"), @r#"line 2, column 3: "fast" is not a number: correct it, or leave the cell empty if the cost is unknown"#);
}

#[test]
fn rows_that_are_cut_off_or_too_long_are_told_with_their_line() {
    insta::assert_snapshot!(refusal(",,\n16.5,,\n44.25\n"), @"line 3: the row needs 3 cells and has 1: it is cut off, or has a separator too few or too many");
    insta::assert_snapshot!(refusal(",,\n16.5,,,7\n44.25,46,\n"), @"line 2: the row needs 3 cells and has 4: it is cut off, or has a separator too few or too many");
    insta::assert_snapshot!(refusal(",5\n16.5,,\n44.25,46,\n"), @"line 1: the row needs 3 cells and has 2: it is cut off, or has a separator too few or too many");
    insta::assert_snapshot!(refusal(",,,,\n16.5,,,,\n44.25,46,,,\n"), @"the matrix has 3 rows and 5 columns, but needs one of each per cpu: it is cut off, or rows are missing");
    insta::assert_snapshot!(refusal(",5,6,7\n5,,8,9\n6,8,,4\n"), @"the matrix has 3 rows and 4 columns, but needs one of each per cpu: it is cut off, or rows are missing");
    insta::assert_snapshot!(refusal("5,6,7\n"), @"the matrix has 1 rows and 3 columns, but needs one of each per cpu: it is cut off, or rows are missing");
    insta::assert_snapshot!(refusal("cpu,0,1,2\n0,,5,6\n1,5,,\n2,6,7\n"), @"line 4: the row needs 4 cells and has 3: it is cut off, or has a separator too few or too many");
    insta::assert_snapshot!(refusal("a,b,ns\n0,1,5\n0,2\n"), @"line 3: the row needs 3 cells and has 2: it is cut off, or has a separator too few or too many");
    insta::assert_snapshot!(refusal("#m #HWCs 2 #Nodes 1\n0 1\n"), @"line 2: the row needs 3 cells and has 2: it is cut off, or has a separator too few or too many");
    insta::assert_snapshot!(refusal("# Info: Clock\n 0, 1, 8200, 4100, 38 ns, 38, 3 GHz\n 0, 1, 82"), @"line 3: the row needs 5 cells and has 3: it is cut off, or has a separator too few or too many");
    insta::assert_snapshot!(refusal("   1   2   3\n0: 5 6\n1: 8 9\n2: 5\n"), @"line 2: the row needs 4 cells and has 3: it is cut off, or has a separator too few or too many");
}

#[test]
fn cpus_are_two_or_more_and_each_once() {
    insta::assert_snapshot!(refusal("57\n"), @"a pair needs two cpus, and the file has 1: measure at least two");
    insta::assert_snapshot!(refusal("CPU 0\n  0 0\n"), @"a pair needs two cpus, and the file has 1: measure at least two");
    insta::assert_snapshot!(refusal("cpu,0,1,1\n0,,5,6\n1,5,,7\n2,6,7,\n"), @"line 1: cpu 1 is there twice or out of order: keep one row and one column for each cpu");
    insta::assert_snapshot!(refusal("cpu,0,1\n1,,5\n1,5,\n"), @"line 3: cpu 1 is there twice or out of order: keep one row and one column for each cpu");
    insta::assert_snapshot!(refusal("   1   1\n0: 5 6\n1: 8\n"), @"line 1: cpu 1 is there twice or out of order: keep one row and one column for each cpu");
}

#[test]
fn a_matrix_without_costs_is_refused() {
    insta::assert_snapshot!(refusal(",,\n,,\n,,\n"), @"the file has no cost between two cpus: all cells are empty");
    insta::assert_snapshot!(refusal("x,nan\n-,x\n"), @"the file has no cost between two cpus: all cells are empty");
    insta::assert_snapshot!(refusal(",,\n0,,\n0,0,\n"), @"all costs in the file are 0 (3 cells): the tool's clock did not work on that machine; measure again with another tool");
    insta::assert_snapshot!(refusal("0 0\n0 0\n"), @"all costs in the file are 0 (2 cells): the tool's clock did not work on that machine; measure again with another tool");
}

#[test]
fn the_limits_are_told() {
    let wide = |cpus: usize| ",".repeat(cpus - 1) + "\n5" + &",".repeat(cpus - 1) + "\n";
    let square = |cpus: usize| wide(cpus) + &(",".repeat(cpus - 1) + "\n").repeat(cpus - 2);
    assert_eq!(read_links(&square(MOST_CPUS)).unwrap().cpus.len(), MOST_CPUS);
    assert_eq!(read_links(&square(MOST_CPUS + 1)), Err(ImportError::TooMany { cpus: MOST_CPUS + 1 }));
    insta::assert_snapshot!(refusal(&square(MOST_CPUS + 5)), @"the file has 2049 cpus or more, and at most 2048 are supported: use a part of them");
    insta::assert_snapshot!(refusal(&wide(1 << 20)), @"the file has 2049 cpus or more, and at most 2048 are supported: use a part of them");
    let pairs: String = (0..5000).map(|cpu| format!("{cpu},{},5\n", cpu + 1)).collect();
    insta::assert_snapshot!(refusal(&format!("a,b,ns\n{pairs}")), @"the file has 5001 cpus or more, and at most 2048 are supported: use a part of them");
    let error = read_links(&" ".repeat(MAXIMUM_BYTES + 1)).unwrap_err();
    insta::assert_snapshot!(error, @"the file has 50331649 bytes, and at most 50331648 are supported: leave out samples or kinds");
}

#[test]
fn long_cells_are_shortened_and_unprintable_ones_written_out() {
    let text = format!("a,b,ns\n0,1,{}\u{7}\n", "9x".repeat(1000));
    insta::assert_snapshot!(refusal(&text), @r#"line 2, column 3: "9x9x9x9x9x9x9x9x9x9x9x9x9x9x9x9x9x9x9x9x9x9x9x9x…" is not a number: correct it, or leave the cell empty if the cost is unknown"#);
    insta::assert_snapshot!(refusal("a,b,ns\n0,1,9\u{7}\n"), @r#"line 2, column 3: "9\u{7}" is not a number: correct it, or leave the cell empty if the cost is unknown"#);
}
