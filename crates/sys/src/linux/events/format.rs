//! A tracepoint's own description of its records: fields, offsets, sizes.

/// One tracepoint as its `format` file describes it (Documentation/trace/events.rst, "Event formats").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracepointFormat {
    /// Its number in perf and ftrace.
    pub id: u16,
    fields: Vec<FormatField>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FormatField {
    name: String,
    offset: usize,
    size: usize,
    is_signed: bool,
    /// True if the field holds the offset and length of its data.
    is_located: bool,
}

/// Position of a field in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldSlot {
    offset: usize,
    size: usize,
    is_signed: bool,
    is_located: bool,
}

impl TracepointFormat {
    /// Parses a `format` file; `None` if it has no number.
    pub fn parse(text: &str) -> Option<Self> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?;
        Some(Self { id, fields: text.lines().filter_map(parse_field).collect() })
    }

    /// Returns the position of a field; `None` if this kernel's tracepoint has none of that name.
    pub fn find_slot(&self, name: &str) -> Option<FieldSlot> {
        let field = self.fields.iter().find(|field| field.name == name)?;
        let FormatField { offset, size, is_signed, is_located, .. } = *field;
        Some(FieldSlot { offset, size, is_signed, is_located })
    }
}

/// Parses a line such as "field:__data_loc char[] name; offset:12; size:4; signed:0;".
fn parse_field(line: &str) -> Option<FormatField> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';');
    let declaration = parts.next()?.trim();
    let value =
        |part: Option<&str>, name: &str| part?.trim().strip_prefix(name)?.strip_prefix(':')?.parse::<usize>().ok();
    let offset = value(parts.next(), "offset")?;
    let size = value(parts.next(), "size")?;
    // Kernels before 2.6.30 do not report signs.
    let is_signed = value(parts.next(), "signed").unwrap_or(0) == 1;
    let last = declaration.rsplit(|c: char| c.is_whitespace() || c == '*').next()?;
    let name = last.split('[').next()?.to_owned();
    let is_located = declaration.starts_with("__data_loc") || declaration.starts_with("__rel_loc");
    Some(FormatField { name, offset, size, is_signed, is_located })
}

impl FieldSlot {
    /// Reads the field as a number; 0 if the record is too short for it. Negative numbers keep their bits.
    pub fn read_number(self, record: &[u8]) -> u64 {
        let Some(bytes) = self.raw_bytes(record).filter(|bytes| bytes.len() <= 8) else { return 0 };
        let mut whole = [0_u8; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        let value = u64::from_le_bytes(whole);
        let unused_bits = 64 - 8 * bytes.len() as u32;
        match (self.is_signed, unused_bits) {
            (true, 1..64) => ((value << unused_bits) as i64 >> unused_bits) as u64,
            _ => value,
        }
    }

    /// Reads the field as the number of a task; 0 for numbers below zero.
    pub fn read_task(self, record: &[u8]) -> u32 {
        u32::try_from(self.read_number(record) as i64).unwrap_or(0)
    }

    /// Reads the field as a text up to its first zero byte.
    pub fn read_text(self, record: &[u8]) -> String {
        let bytes = self.read_data(record);
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }

    /// Returns the field's bytes, wherever in the record they lie. For a located field, the lower half of its value is the offset from the
    /// record's beginning, the upper half the length.
    pub fn read_data(self, record: &[u8]) -> &[u8] {
        if !self.is_located {
            return self.raw_bytes(record).unwrap_or_default();
        }
        let place = self.read_number(record);
        let (offset, length) = ((place & 0xffff) as usize, (place >> 16 & 0xffff) as usize);
        record.get(offset..offset + length).unwrap_or_default()
    }

    fn raw_bytes(self, record: &[u8]) -> Option<&[u8]> {
        record.get(self.offset..self.offset + self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux 6.18 prints it.
    const IRQ: &str = "name: irq_handler_entry\nID: 225\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n\
        \tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n\n\
        print fmt: \"irq=%d name=%s\", REC->irq, __get_str(name)\n";

    #[test]
    fn fields_are_found_by_name_wherever_they_are() {
        let format = TracepointFormat::parse(IRQ).unwrap();
        assert_eq!(format.id, 225);
        let mut record = vec![0_u8; 16];
        record[4..8].copy_from_slice(&4321_i32.to_le_bytes());
        record[8..12].copy_from_slice(&(-3_i32).to_le_bytes());
        record[12..16].copy_from_slice(&((7_u32 << 16) | 16).to_le_bytes());
        record.extend_from_slice(b"virtio\0");
        assert_eq!(format.find_slot("common_pid").unwrap().read_task(&record), 4321);
        assert_eq!(format.find_slot("irq").unwrap().read_number(&record) as i64, -3);
        assert_eq!(format.find_slot("irq").unwrap().read_task(&record), 0);
        assert_eq!(format.find_slot("name").unwrap().read_text(&record), "virtio");
        assert_eq!(format.find_slot("absent"), None);
    }

    #[test]
    fn arrays_and_pointers_have_the_name_behind_their_type() {
        let format = "ID: 7\nfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
            field:void * func;\toffset:24;\tsize:8;\tsigned:0;\nfield:void *csd;\toffset:32;\tsize:8;\tsigned:0;\n";
        let format = TracepointFormat::parse(format).unwrap();
        let mut record = vec![0_u8; 40];
        record[8..13].copy_from_slice(b"bash\0");
        record[24..32].copy_from_slice(&0xffff_ffff_8100_0000_u64.to_le_bytes());
        assert_eq!(format.find_slot("prev_comm").unwrap().read_text(&record), "bash");
        assert_eq!(format.find_slot("func").unwrap().read_number(&record), 0xffff_ffff_8100_0000);
        assert!(format.find_slot("csd").is_some());
    }

    #[test]
    fn nonsense_and_short_records_are_survived() {
        for text in ["", "ID: x", "field:int a;offset:0;", "ID: 70000"] {
            assert_eq!(TracepointFormat::parse(text), None, "{text}");
        }
        let format = TracepointFormat::parse(IRQ).unwrap();
        for length in 0..16 {
            let record = vec![0xff_u8; length];
            let _ = (
                format.find_slot("irq").unwrap().read_number(&record),
                format.find_slot("name").unwrap().read_text(&record),
            );
        }
    }
}
