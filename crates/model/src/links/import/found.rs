//! Result of a reader, and its conversion.

use super::collect::Collector;
use super::error::ImportError;
use super::{Format, Imported, remarks};

/// Result of one of the readers.
pub struct Found {
    pub format: Format,
    pub collector: Collector,
    pub names_cpus: bool,
    pub in_cycles: bool,
    /// Remarks of the reader, beyond remarks that follow from the numbers.
    pub remarks: Vec<String>,
}

impl Found {
    /// Converts it to series with all remarks.
    pub fn finish(self) -> Result<Imported, ImportError> {
        let mirrored = !matches!(self.format, Format::Trb | Format::Pairs | Format::Visits | Format::Samples);
        let cpus = self.collector.cpus()?;
        let (series, counts) = self.collector.finish(mirrored, &cpus)?;
        let mut imported = Imported {
            format: self.format,
            series,
            cpus,
            names_cpus: self.names_cpus,
            in_cycles: self.in_cycles,
            remarks: self.remarks,
        };
        let more = remarks::of(&imported, &counts);
        imported.remarks.extend(more);
        Ok(imported)
    }
}
