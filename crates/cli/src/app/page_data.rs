//! Data in a page: written by `corewise report`, read by `corewise history import`.

use std::io::{self, Read, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use base64::read::DecoderReader;
use corewise_sys::input::JSON_BYTES;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// Largest JSON, in bytes, that is not compressed in a page.
const PLAIN: usize = 200_000;
/// Largest data, in bytes after compression, that a page includes.
const LARGEST: usize = 600_000;
/// Start of a data element up to the name of its document, for JSON and for compressed JSON.
const BEGIN: [&str; 2] =
    ["<script type=\"application/json\" data-corewise=\"", "<script type=\"application/gzip\" data-corewise=\""];
/// End of the element; the data has no other "<".
const END: &str = "</script>";

/// Returns the element that holds JSON in a page; `None` if it would be too large.
pub fn write_element(schema: &str, json: &str) -> Option<String> {
    let (begin, data) = if json.len() <= PLAIN {
        // Escapes "<", so that no text in it ends the element.
        (BEGIN[0], json.replace('<', "\\u003c"))
    } else {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(json.as_bytes()).ok()?;
        (BEGIN[1], STANDARD.encode(encoder.finish().ok()?))
    };
    (data.len() <= LARGEST).then(|| format!("{begin}{schema}\">{data}{END}"))
}

/// Element of a page that holds a document, still packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentElement<'a> {
    /// Name of the document.
    pub schema: &'a str,
    data: &'a str,
    is_packed: bool,
}

/// Finds the elements of a page in one pass. An element without an end is skipped.
pub fn find_elements(page: &str) -> impl Iterator<Item = DocumentElement<'_>> {
    let mut rest = page;
    std::iter::from_fn(move || {
        while let Some(place) = rest.find('<') {
            // Other text is skipped up to the next "<".
            let (element, passed) = parse_element(&rest[place..]);
            rest = &rest[place + passed..];
            if element.is_some() {
                return element;
            }
        }
        None
    })
}

/// Parses the element at the start of a text, if any; also returns how much of the text was examined.
fn parse_element(text: &str) -> (Option<DocumentElement<'_>>, usize) {
    for (begin, is_packed) in BEGIN.into_iter().zip([false, true]) {
        let Some(inside) = text.strip_prefix(begin) else { continue };
        let Some(end) = inside.find('<') else { return (None, text.len()) };
        let passed = begin.len() + end;
        let element = inside[..end].split_once("\">").filter(|_| inside[end..].starts_with(END));
        return (element.map(|(schema, data)| DocumentElement { schema, data, is_packed }), passed);
    }
    (None, 1)
}

/// Unpacks the elements of a page, up to [`JSON_BYTES`] in all.
#[derive(Debug)]
pub struct PageUnpacker {
    left: u64,
}

impl PageUnpacker {
    /// Returns an unpacker with the whole allowance.
    pub fn new() -> Self {
        Self { left: JSON_BYTES }
    }

    /// Opens an element to read its JSON.
    pub fn open<'a>(&'a mut self, element: &DocumentElement<'a>) -> impl Read + 'a {
        let data = element.data.as_bytes();
        let reader: Box<dyn Read + 'a> = match element.is_packed {
            true => Box::new(GzDecoder::new(DecoderReader::new(data, &STANDARD))),
            false => Box::new(data),
        };
        UnpackedReader { reader, left: &mut self.left }
    }
}

/// Reads an unpacked element and counts its bytes.
struct UnpackedReader<'a> {
    reader: Box<dyn Read + 'a>,
    left: &'a mut u64,
}

impl Read for UnpackedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        let too_large = || io::Error::other(format!("it unpacks to more than {JSON_BYTES} bytes"));
        *self.left = self.left.checked_sub(count as u64).ok_or_else(too_large)?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(page: &str) -> Vec<(String, io::Result<String>)> {
        let mut unpacker = PageUnpacker::new();
        let read = |element: DocumentElement<'_>| {
            let mut text = String::new();
            let read = unpacker.open(&element).read_to_string(&mut text);
            (element.schema.to_owned(), read.map(|_| text))
        };
        find_elements(page).map(read).collect()
    }

    #[test]
    fn what_is_written_into_a_page_is_read_again() {
        let small = "{\"name\":\"</script><b>\"}";
        let large = format!("[{}0]", "1,2,3,".repeat(100_000));
        let page =
            format!("<p>x</p>{}\n{}", write_element("a/1", small).unwrap(), write_element("c/2", &large).unwrap());
        assert!(page.len() < 20_000);
        let found = unpacked(&page);
        assert_eq!([found[0].0.as_str(), found[1].0.as_str()], ["a/1", "c/2"]);
        assert_eq!(found[0].1.as_ref().unwrap().replace("\\u003c", "<"), small);
        assert_eq!(*found[1].1.as_ref().unwrap(), large);
    }

    #[test]
    fn an_element_that_has_no_end_or_is_no_data_is_none() {
        assert_eq!(find_elements(&format!("{}a/1\">{{", BEGIN[0])).count(), 0);
        assert_eq!(find_elements(&format!("{}a/1\">{{<b>{END}", BEGIN[0])).count(), 0);
        assert_eq!(find_elements(&format!("{}a/1{END}", BEGIN[0])).count(), 0);
        assert!(unpacked(&format!("{}a/1\">%%{END}", BEGIN[1]))[0].1.is_err());
        let inner = write_element("b/1", "{}").unwrap();
        assert_eq!(
            find_elements(&format!("{}a/1\">{{{inner}", BEGIN[0])).map(|one| one.schema).collect::<Vec<_>>(),
            ["b/1"]
        );
    }

    #[test]
    fn beginnings_without_an_end_are_looked_at_once() {
        let page = BEGIN[0].repeat(100_000);
        assert_eq!(parse_element(&page), (None, BEGIN[0].len()), "nothing is looked at behind the next beginning");
        let (mut rest, mut looked_at) = (page.as_str(), 0);
        while !rest.is_empty() {
            let (element, passed) = parse_element(rest);
            assert_eq!(element, None);
            looked_at += passed;
            rest = &rest[passed..];
        }
        assert_eq!(looked_at, page.len());
        assert_eq!(find_elements(&page).count(), 0);
    }

    #[test]
    fn all_elements_together_unpack_to_a_bounded_size() {
        let packed = write_element("a/1", &" ".repeat(60 << 20)).unwrap();
        assert!(packed.len() < 1_000_000);
        let mut unpacker = PageUnpacker::new();
        let page = packed.repeat(6);
        let is_read = |element| io::copy(&mut unpacker.open(&element), &mut io::sink()).is_ok();
        assert_eq!(find_elements(&page).map(is_read).collect::<Vec<_>>(), [true, true, true, true, false, false]);
    }
}
