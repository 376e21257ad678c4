//! Changes of JSON documents, so that most inputs are documents still.

use corewise_machine::random::RandomGenerator;
use serde_json::{Value, json};

/// Values at the edges of what fields may hold.
const NUMBERS: [f64; 14] = [
    0.0,
    -1.0,
    0.5,
    -0.0,
    5e-324,
    1e15,
    1e99,
    1e308,
    -1e308,
    8191.0,
    8192.0,
    65_535.0,
    65_536.0,
    9_007_199_254_740_992.0,
];
const INTEGERS: [u64; 6] = [1, 1 << 31, u32::MAX as u64, 1 << 40, i64::MAX as u64, u64::MAX];
const TEXTS: [&str; 9] = ["", "<script>", "\u{202e}x", "\u{1b}[31m", "\0", "0", "0-15", "0-8191", "http://a:b@c"];

/// Replaces a document by a changed one, if it is one and the result fits; otherwise changes bytes as usual. Returns the new length.
pub fn mutate_json(bytes: &mut [u8], length: usize, room: usize, seed: u32) -> usize {
    let mut random = RandomGenerator::new(u64::from(seed));
    let changed = serde_json::from_slice(&bytes[..length]).ok().and_then(|mut document: Value| {
        for _ in 0..1 + random.next_below(3) {
            change_somewhere(&mut document, &mut random);
        }
        serde_json::to_vec(&document).ok().filter(|text| text.len() <= room && random.next_below(20) > 0)
    });
    match changed {
        Some(text) => {
            bytes[..text.len()].copy_from_slice(&text);
            text.len()
        }
        None => libfuzzer_sys::fuzzer_mutate(bytes, length, room),
    }
}

/// Changes a value in a document. At each level the way down is random, so that shallow and deep values are as likely.
fn change_somewhere(value: &mut Value, random: &mut RandomGenerator) {
    let deeper = random.next_below(6) > 0;
    match value {
        Value::Array(all) if deeper && !all.is_empty() => {
            let at = random.next_below(all.len());
            change_somewhere(&mut all[at], random);
        }
        Value::Object(fields) if deeper && !fields.is_empty() => {
            let at = random.next_below(fields.len());
            fields.values_mut().nth(at).into_iter().for_each(|field| change_somewhere(field, random));
        }
        _ => change_value(value, random),
    }
}

/// Changes a value to another of its sort, or rarely to none.
fn change_value(value: &mut Value, random: &mut RandomGenerator) {
    match value {
        Value::Bool(is) => *is = !*is,
        Value::Number(number) => *value = change_number(number.as_f64().unwrap_or_default(), random),
        Value::String(own) => match random.next_below(3) {
            0 => own.push_str(TEXTS[random.next_below(TEXTS.len())]),
            _ => TEXTS[random.next_below(TEXTS.len())].clone_into(own),
        },
        Value::Array(all) if !all.is_empty() => change_list(all, random),
        Value::Object(fields) if random.next_below(2) == 0 => {
            let name = fields.keys().nth(random.next_below(fields.len().max(1))).cloned();
            name.into_iter().for_each(|name| _ = fields.remove(&name));
        }
        _ => *value = [Value::Null, json!(0), json!({}), json!([]), json!("")][random.next_below(5)].clone(),
    }
}

fn change_number(number: f64, random: &mut RandomGenerator) -> Value {
    match random.next_below(4) {
        0 => json!(NUMBERS[random.next_below(NUMBERS.len())]),
        1 => json!(INTEGERS[random.next_below(INTEGERS.len())]),
        2 => json!((number as i64).saturating_add(random.next_below(5) as i64 - 2)),
        _ => json!(number * [0.5, 2.0, 1.001, 1e6][random.next_below(4)]),
    }
}

fn change_list(all: &mut Vec<Value>, random: &mut RandomGenerator) {
    let (one, other) = (random.next_below(all.len()), random.next_below(all.len()));
    match random.next_below(6) {
        0 => all.clear(),
        1 => all.reverse(),
        2 => all.extend(all.clone()),
        3 => all.insert(one, all[other].clone()),
        4 => all.swap(one, other),
        _ => _ = all.remove(one),
    }
}
