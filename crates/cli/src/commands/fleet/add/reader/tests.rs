//! Texts as pdsh, kubectl and shells print them, and what becomes of the damaged ones.

use corewise_model::fleet::FleetNode;

use super::*;
use crate::draw::fixtures::fleet::{small_fleet, visit_report};

fn line(node: &str, boot: &str, at: i64) -> String {
    serde_json::to_string(&visit_report(node, boot, at)).unwrap()
}

/// Adds texts of files, or of standard input if a name is empty.
fn add_texts(texts: &[(&str, &str)]) -> (Fleet, String) {
    let mut fleet = small_fleet();
    fleet.nodes.clear();
    let mut reader = ReportReader::new(fleet);
    for (name, text) in texts {
        let place = if name.is_empty() { "standard input".to_owned() } else { format!("{name}.json") };
        let node = Some((*name).to_owned()).filter(|name| !name.is_empty());
        reader.add_text(text.as_bytes(), &ReportSource { place, node });
    }
    let (fleet, remarks) = reader.finish();
    (fleet, remarks.join("\n"))
}

/// The nodes, each with the number of its visits and the reason of its problem.
fn rows(fleet: &Fleet) -> Vec<(&str, usize, &str)> {
    fleet.nodes.iter().map(describe_row).collect()
}

fn describe_row(node: &FleetNode) -> (&str, usize, &str) {
    let reason = node.problem.as_ref().map_or("", |problem| problem.reason.as_str());
    (&node.name, node.visits.len(), reason)
}

#[test]
fn the_name_before_a_report_wins_and_without_one_the_report_names_its_node() {
    let [one, two, bare] = [line("vm", "a", 0), line("vm", "b", 100), line("vm", "c", 5000)];
    let (fleet, said) = add_texts(&[("", &format!("n1: {one}\nn2: {two}\n{bare}\nn3\t{one}\n"))]);
    assert_eq!(rows(&fleet), [("n1", 1, ""), ("n2", 1, ""), ("n3", 1, ""), ("vm", 1, "")]);
    assert_eq!(said, "");
    let (_, said) = add_texts(&[("", &format!("{one}\n{two}\n{bare}\n"))]);
    assert!(said.starts_with("warning: several machines have one name") && said.contains("vm (3)"), "{said}");
}

#[test]
fn whatever_holds_no_report_is_a_row_with_its_reason_or_a_place_in_a_note() {
    let good = line("n1", "a", 0);
    let texts = [
        ("good", good.as_str()),
        ("empty", " \n"),
        ("words", "bash: line 1: corewise: command not found\n"),
        ("json", "{\"a\": 1}"),
        ("cut", &good[..200]),
        ("pretty", "{\n  \"schema\": 1,\n"),
    ];
    let (fleet, said) = add_texts(&texts);
    let rows = rows(&fleet);
    let reason = |name: &str| rows.iter().find(|row| row.0 == name && row.1 == 0).unwrap().2;
    assert_eq!((reason("empty"), reason("words")), ("it is empty", "bash: line 1: corewise: command not found"));
    for name in ["json", "cut", "pretty"] {
        assert!(reason(name).starts_with("it is no report of a visit"), "{name}: {}", reason(name));
    }
    assert_eq!((rows.len(), said.as_str()), (6, ""));
}

#[test]
fn a_line_of_words_is_the_reason_of_the_node_that_it_names() {
    let (good, mut wrong) = (line("n1", "a", 0), visit_report("n6", "a", 0));
    wrong.survey.quantities[0].typical = -5.0;
    let negative = serde_json::to_string(&wrong).unwrap();
    let text = format!(
        "n1: {good}\nn2: bash: corewise: command not found\npdsh@admin: n2: ssh exited with exit code 127\n\
         pdsh@admin: n3: ssh exited with exit code 255\nn4: {{\"a\": 1}}\nn5:\nn6: {negative}\n\nerror: of whom\n{{\"b\": 2}}\n\
         n1: warning of one that has a report\nn1: {}\n",
        &good[..100]
    );
    let (fleet, said) = add_texts(&[("", &text)]);
    let rows = rows(&fleet);
    assert_eq!(rows[0], ("n1", 1, ""));
    assert_eq!(rows[1], ("n2", 0, "bash: corewise: command not found"), "pdsh knows less");
    assert_eq!(rows[2], ("n3", 0, "ssh exited with exit code 255"));
    assert!(rows[3].0 == "n4" && rows[3].2.starts_with("it is no report"), "{rows:?}");
    assert_eq!(rows[4], ("n5", 0, "it printed nothing"));
    assert!(rows[5].0 == "n6" && rows[5].2.contains("-5"), "{rows:?}");
    assert_eq!(rows.len(), 6);
    let note = "note: no report, and names no node: standard input line 9, standard input line 10\n\
                note: a damaged report: standard input line 12 (of n1, which has others)";
    assert_eq!(said, note);
}
