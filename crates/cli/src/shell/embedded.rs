//! Data in a page: written by `corewise report`, read by `corewise history import`.

use std::borrow::Cow;
use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use corewise_sys::input::JSON_BYTES;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// JSON up to this size, in bytes, stands in a page as it is; more is compressed.
const PLAIN: usize = 200_000;
/// Data that takes more bytes even compressed is left out.
const LARGEST: usize = 600_000;
/// What begins an element with data, up to the name of its documents, for JSON and for compressed JSON.
const BEGIN: [&str; 2] =
    ["<script type=\"application/json\" data-corewise=\"", "<script type=\"application/gzip\" data-corewise=\""];
/// What ends it; the data has no other "<".
const END: &str = "</script>";

/// The element that holds JSON in a page; nothing where it would be too large.
pub fn element(schema: &str, json: &str) -> Option<String> {
    let (begin, data) = if json.len() <= PLAIN {
        // No text in it ends the element.
        (BEGIN[0], json.replace('<', "\\u003c"))
    } else {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(json.as_bytes()).ok()?;
        (BEGIN[1], STANDARD.encode(encoder.finish().ok()?))
    };
    (data.len() <= LARGEST).then(|| format!("{begin}{schema}\">{data}{END}"))
}

/// The data that a page holds: the names of the documents, and their JSON.
///
/// # Errors
/// What is wrong with compressed data.
pub fn elements(page: &str) -> Result<Vec<(&str, Cow<'_, str>)>, String> {
    let mut places: Vec<(usize, usize)> = Vec::new();
    for (form, begin) in BEGIN.iter().enumerate() {
        places.extend(page.match_indices(begin).map(|(place, _)| (place, form)));
    }
    places.sort_unstable();
    let element = |(place, form): (usize, usize)| {
        let text = &page[place + BEGIN[form].len()..];
        let (schema, rest) = text.split_once("\">")?;
        let (data, _) = rest.split_once(END)?;
        Some(if form == 0 {
            Ok((schema, Cow::Borrowed(data)))
        } else {
            unpacked(data).map(|json| (schema, Cow::Owned(json)))
        })
    };
    places.into_iter().filter_map(element).collect()
}

fn unpacked(data: &str) -> Result<String, String> {
    let bytes = STANDARD.decode(data).map_err(|error| error.to_string())?;
    let mut json = String::new();
    GzDecoder::new(&*bytes).take(JSON_BYTES).read_to_string(&mut json).map_err(|error| error.to_string())?;
    Ok(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_into_a_page_is_read_again() {
        let small = "{\"name\":\"</script><b>\"}";
        let large = format!("[{}0]", "1,2,3,".repeat(100_000));
        let page = format!("<p>x</p>{}\n{}", element("a/1", small).unwrap(), element("c/2", &large).unwrap());
        assert!(page.len() < 20_000);
        let found = elements(&page).unwrap();
        assert_eq!([found[0].0, found[1].0], ["a/1", "c/2"]);
        assert_eq!(found[0].1.replace("\\u003c", "<"), small);
        assert_eq!(found[1].1, large);
    }

    #[test]
    fn an_element_that_has_no_end_or_is_no_data_is_none() {
        assert_eq!(elements(&format!("{}a/1\">{{", BEGIN[0])), Ok(vec![]));
        assert!(elements(&format!("{}a/1\">%%{END}", BEGIN[1])).is_err());
    }
}
