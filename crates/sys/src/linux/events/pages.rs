//! The pages of ftrace's ring buffer, as read from `trace_pipe_raw`.

/// Offset of the data on a page, after its time and its length (events/header_page, on machines of 64 bits).
const HEADER_BYTES: usize = 16;
/// Mask of the length; higher bits say if events were lost before this page (kernel/trace/ring_buffer.c, RB_MISSED_EVENTS).
const LENGTH: u64 = 0x000f_ffff;

/// The records of one page with their times, in order.
#[derive(Clone, Copy, Debug)]
pub struct PageRecords<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
    time: u64,
}

impl<'a> PageRecords<'a> {
    /// Reads a page; a truncated one ends early.
    pub fn new(page: &'a [u8]) -> Self {
        let number =
            |at: usize| page.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes);
        let commit = number(8);
        let end = (HEADER_BYTES + (commit & LENGTH) as usize).min(page.len());
        Self { bytes: page, at: HEADER_BYTES, end, time: number(0) }
    }

    fn next_word(&mut self) -> Option<u32> {
        let word = self.bytes.get(self.at..self.at + 4).filter(|_| self.at + 4 <= self.end)?;
        self.at += 4;
        Some(u32::from_ne_bytes(word.try_into().ok()?))
    }

    fn next_data(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.end)?;
        let data = &self.bytes[self.at..end];
        self.at = end;
        Some(data)
    }
}

impl<'a> Iterator for PageRecords<'a> {
    type Item = (u64, &'a [u8]);

    /// Returns the next record: its time and its bytes. A header is a word: five bits of type or length, 27 of time since the record before
    /// (events/header_event).
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let header = self.next_word()?;
            let (kind, step) = (header & 31, u64::from(header >> 5));
            match kind {
                29 => {
                    let length = self.next_word()? as usize;
                    self.next_data(length.checked_sub(4)?)?;
                    self.time += step;
                }
                30 => self.time += step + (u64::from(self.next_word()?) << 27),
                // An absolute time has 59 bits; the bits above stay.
                31 => self.time = (self.time & !((1 << 59) - 1)) | (step + (u64::from(self.next_word()?) << 27)),
                0 => {
                    let length = self.next_word()? as usize;
                    self.time += step;
                    return Some((self.time, self.next_data(length.checked_sub(4)?)?));
                }
                words => {
                    self.time += step;
                    return Some((self.time, self.next_data(words as usize * 4)?));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(time: u64, commit: u64, words: &[u32]) -> Vec<u8> {
        let header = [time.to_ne_bytes(), commit.to_ne_bytes()].concat();
        header.into_iter().chain(words.iter().flat_map(|word| word.to_ne_bytes())).collect()
    }

    #[test]
    fn times_add_up_over_records_of_every_kind() {
        let words = [
            // Two words of data, 5 later.
            5 << 5 | 2,
            0xaaaa,
            0xbbbb,
            // Time goes on by 3 and 2 << 27.
            3 << 5 | 30,
            2,
            // Long data: its length counts its own word.
            1 << 5,
            8,
            0xcccc,
            // Padding of one word, then nothing but what is beyond the length.
            29,
            4,
        ];
        let bytes = page(1000, (words.len() as u64 * 4) | 1 << 31, &[&words[..], &[1, 0xdddd]].concat());
        let pages = PageRecords::new(&bytes);
        let found: Vec<(u64, usize)> = pages.map(|(time, data)| (time, data.len())).collect();
        assert_eq!(found, [(1005, 8), (1005 + 3 + (2 << 27) + 1, 4)]);
    }

    #[test]
    fn pages_that_are_cut_off_end() {
        let whole = page(1, 20, &[7 << 5 | 4, 1, 2, 3, 4]);
        assert_eq!(PageRecords::new(&whole).count(), 1);
        for length in 0..whole.len() {
            assert_eq!(PageRecords::new(&whole[..length]).count(), 0);
        }
        assert_eq!(PageRecords::new(&page(1, 8, &[0, 1])).count(), 0, "a length below its own word");
    }
}
