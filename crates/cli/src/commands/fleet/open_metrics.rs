//! A fleet as text of OpenMetrics: one series for each node and quantity.
//!
//! The format is that of the specification OpenMetrics 1.0: base units at the end of a name, labels with escapes, `# EOF` at the end.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use corewise_model::Artifact as _;
use corewise_model::fleet::{Fleet, FleetNode, FleetQuantity};

/// Writes the metrics.
pub fn write_metrics(fleet: &Fleet) -> String {
    let mut text = String::new();
    for quantity in &fleet.quantities {
        let values = fleet.nodes.iter().filter_map(|node| Some((node, fleet.node_value(node, *quantity)?)));
        let values: Vec<(&FleetNode, f64)> = values.collect();
        let (unit, factor) = base_unit(*quantity);
        let name = format!("corewise_fleet_{}_{unit}", quantity.word().replace('-', "_"));
        if !values.is_empty() {
            write_family(&mut text, &name, Some(unit), quantity.meaning());
        }
        for (node, value) in values {
            let _ = writeln!(text, "{name}{{{}}} {}", node_labels(node), factor * value);
        }
    }
    write_outliers(&mut text, fleet);
    let name = "corewise_fleet_answered";
    write_family(&mut text, name, None, "1 if the last visit of the node gave a result, otherwise 0.");
    for node in &fleet.nodes {
        let has_answered = u8::from(node.problem.is_none() && !node.visits.is_empty());
        let _ = writeln!(text, "{name}{{{}}} {has_answered}", node_labels(node));
    }
    text + "# EOF\n"
}

/// Writes one series for each quantity of each node that is compared with peers. A missing series means "not compared".
fn write_outliers(text: &mut String, fleet: &Fleet) {
    let (name, judged) = ("corewise_fleet_outlier", fleet.list_judged_nodes());
    if judged.is_empty() {
        return;
    }
    write_family(text, name, None, "1 if the node is worse than its peers in this quantity, 0 if that is not proven.");
    let outliers = fleet.draw_conclusions().outliers;
    let listed: BTreeSet<(&str, FleetQuantity)> =
        outliers.iter().map(|node| (node.node.as_str(), node.quantity)).collect();
    for node in judged.into_iter().map(|place| &fleet.nodes[place]) {
        for quantity in fleet.quantities.iter().filter(|quantity| fleet.node_value(node, **quantity).is_some()) {
            let is_listed = u8::from(listed.contains(&(node.name.as_str(), *quantity)));
            let _ = writeln!(text, "{name}{{{},quantity=\"{quantity}\"}} {is_listed}", node_labels(node));
        }
    }
}

fn write_family(text: &mut String, name: &str, unit: Option<&str>, help: &str) {
    let _ = writeln!(text, "# TYPE {name} gauge");
    if let Some(unit) = unit {
        let _ = writeln!(text, "# UNIT {name} {unit}");
    }
    let _ = writeln!(text, "# HELP {name} {}", escape_label(help));
}

/// Returns the base unit of a quantity, and the factor to it.
fn base_unit(quantity: FleetQuantity) -> (&'static str, f64) {
    match quantity.unit() {
        "ns" => ("seconds", 1e-9),
        "%" => ("ratio", 1e-2),
        "per s" => ("hertz", 1.0),
        "GB/s" => ("bytes_per_second", 1e9),
        _ => ("ratio", 1.0),
    }
}

fn node_labels(node: &FleetNode) -> String {
    let rack = node.rack.as_ref().map(|rack| format!(",rack=\"{}\"", escape_label(rack))).unwrap_or_default();
    format!("node=\"{}\"{rack}", escape_label(&node.name))
}

/// Escapes a label's value or a help text.
fn escape_label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use corewise_model::fleet::{NodeProblem, ProblemKind};

    use super::*;
    use crate::draw::fixtures::fleet::small_fleet;

    #[test]
    fn each_node_and_quantity_is_one_series_with_escaped_labels() {
        let mut fleet = small_fleet();
        fleet.nodes[0].rack = Some("a\"b\\c\nd".to_owned());
        let failed = NodeProblem { kind: ProblemKind::TimedOut, reason: "no result".to_owned() };
        fleet.nodes[2].problem = Some(failed);
        let text = write_metrics(&fleet);
        assert!(text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1);
        let series = |name: &str| text.lines().filter(|line| line.starts_with(&format!("{name}{{"))).count();
        let answered = fleet.nodes.iter().filter(|node| !node.visits.is_empty()).count();
        assert_eq!(
            (series("corewise_fleet_speed_seconds"), series("corewise_fleet_answered")),
            (answered, fleet.nodes.len())
        );
        assert!(text.contains("# UNIT corewise_fleet_speed_seconds seconds\n"));
        let value = |metric: &str, node: usize| {
            let series = format!("corewise_fleet_{metric}{{node=\"{}\"", fleet.nodes[node].name);
            let (_, value) = text.lines().find(|line| line.starts_with(&series)).unwrap().rsplit_once(' ').unwrap();
            value.parse::<f64>().unwrap()
        };
        let seconds = 1e-9 * fleet.node_value(&fleet.nodes[1], FleetQuantity::Speed).unwrap();
        assert!((value("speed_seconds", 1) / seconds - 1.0).abs() < 1e-9);
        assert!(text.contains(r#"rack="a\"b\\c\nd"} "#), "{text}");
        assert_eq!([value("answered", 1), value("answered", 2)], [1.0, 0.0]);
        // For an alert, 0 and missing differ.
        let (judged, listed) = (fleet.list_judged_nodes().len(), fleet.draw_conclusions().outliers.len());
        let flags = |value: &str| {
            text.lines().filter(|line| line.starts_with("corewise_fleet_outlier{") && line.ends_with(value)).count()
        };
        assert_eq!((flags(" 1"), flags(" 0")), (listed, judged - listed));
        assert!(listed > 0 && judged == answered);
        // Every line is a comment or a series with a finite number, and no family is written twice.
        let mut families: Vec<&str> = Vec::new();
        for line in text.lines() {
            match line.strip_prefix("# TYPE ") {
                Some(family) => families.push(family),
                None if line.starts_with('#') => {}
                None => {
                    let (_, value) = line.rsplit_once(' ').unwrap();
                    assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
                }
            }
        }
        let count = families.len();
        families.dedup();
        assert_eq!(families.len(), count);
    }
}
