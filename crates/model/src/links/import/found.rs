//! What a reader found in a file, and what becomes of it.

use super::collect::Collector;
use super::error::ImportError;
use super::{Format, Imported, remarks};

/// What one of the readers found.
pub struct Found {
    pub format: Format,
    pub collector: Collector,
    pub names_cpus: bool,
    pub in_cycles: bool,
    /// What the reader has to say beyond what the numbers show.
    pub remarks: Vec<String>,
}

impl Found {
    /// The series, and what has to be known about them.
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
