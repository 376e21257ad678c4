//! Numbers of JSON by their paths: "results.0.mean".

use serde_json::Value;

use super::{DocumentError, TextCell, take_numbers};
use corewise_statistics::quantity::{MeasuredQuantity, QuantityUnit, QuotedQuantity};

/// Maximum number of paths listed.
const MOST_PATHS: usize = 200;

/// Returns the numbers at a path, of each document if there is one on each line. `None` if no document has the path.
///
/// # Errors
/// If a text is at the path.
pub fn find_values(text: &str, path: &str) -> Result<Option<Vec<QuotedQuantity>>, DocumentError> {
    let path = path.replace('[', ".").replace(']', "");
    let path = path.trim_start_matches('$').trim_start_matches('.');
    take_numbers(read_documents(text).iter().flat_map(|document| values_at(document, path)).collect())
}

/// Returns the paths of numbers and of lists of numbers of the first document.
pub fn list_paths(text: &str) -> Vec<String> {
    let mut paths = Vec::new();
    if let Some(document) = read_documents(text).first() {
        collect_paths(document, String::new(), &mut paths);
    }
    paths
}

/// Reads the JSON of an output: all of it, what lies between its first and its last bracket, or a document on each of its lines.
fn read_documents(text: &str) -> Vec<Value> {
    let is_container = |value: &Value| value.is_object() || value.is_array();
    let begin = text.find(['{', '[']).unwrap_or(text.len());
    let end = text.rfind(['}', ']']).map_or(begin, |at| at + 1).max(begin);
    if let Some(whole) = serde_json::from_str(&text[begin..end]).ok().filter(is_container) {
        return vec![whole];
    }
    let of_line = |line: &str| serde_json::from_str(line.trim()).ok().filter(is_container);
    text.lines().filter(|line| line.trim_start().starts_with(['{', '['])).filter_map(of_line).collect()
}

/// Returns what is at a path: the elements of a list, or the number itself. A key may contain dots.
fn values_at(value: &Value, path: &str) -> Vec<Result<QuotedQuantity, TextCell>> {
    if path.is_empty() {
        return match value {
            Value::Array(elements) => elements.iter().filter_map(read_leaf).collect(),
            other => read_leaf(other).into_iter().collect(),
        };
    }
    let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
    let below = |end: usize| {
        let (key, rest) = (&path[..end], path[end..].trim_start_matches('.'));
        let inner = match value {
            Value::Object(fields) => fields.get(key),
            Value::Array(elements) => elements.get(key.parse::<usize>().ok()?),
            _ => None,
        };
        Some(values_at(inner?, rest)).filter(|values| !values.is_empty())
    };
    ends.filter_map(below)
        .next()
        .map(|values| values.into_iter().map(|value| Ok(with_unit_of(value?, path))).collect())
        .unwrap_or_default()
}

/// Gives a bare number the unit that the last word of its path ends in: "p99_ns".
fn with_unit_of(found: QuotedQuantity, path: &str) -> QuotedQuantity {
    let unit = QuantityUnit::of_name(path.rsplit('.').find(|word| word.parse::<usize>().is_err()).unwrap_or_default());
    match found.quantity.unit.is_bare() {
        true => QuotedQuantity { quantity: MeasuredQuantity { unit, ..found.quantity }, ..found },
        false => found,
    }
}

/// Reads what is neither a list nor an object.
fn read_leaf(value: &Value) -> Option<Result<QuotedQuantity, TextCell>> {
    let text = match value {
        Value::Array(_) | Value::Object(_) => return None,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Some(quantity_of(value, "").ok_or(TextCell { text, line: None }))
}

fn quantity_of(value: &Value, line: &str) -> Option<QuotedQuantity> {
    let quantity = match value {
        Value::Number(number) => MeasuredQuantity::without_unit(number.as_f64()?),
        Value::String(text) => MeasuredQuantity::parse(text).ok()?,
        _ => return None,
    };
    let line = if line.is_empty() { value.to_string() } else { line.to_owned() };
    Some(QuotedQuantity::new(quantity, &line, 0))
}

fn collect_paths(value: &Value, path: String, paths: &mut Vec<String>) {
    if paths.len() >= MOST_PATHS {
        return;
    }
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, inner)| collect_paths(inner, below(key), paths)),
        Value::Array(elements) if !elements.is_empty() && elements.iter().all(Value::is_number) => paths.push(path),
        Value::Array(elements) => {
            elements.iter().enumerate().for_each(|(at, inner)| collect_paths(inner, below(&at.to_string()), paths));
        }
        other => paths.extend(quantity_of(other, "").map(|_| path)),
    }
}
