//! Result of a reader, and its conversion.

use super::collect::CostCollector;
use super::error::ImportError;
use super::{ImportedLinks, LinkFileFormat, remarks};

/// Result of one of the readers.
pub struct FormatMatch {
    pub format: LinkFileFormat,
    pub collector: CostCollector,
    pub names_cpus: bool,
    pub in_cycles: bool,
    /// Remarks of the reader, beyond remarks that follow from the numbers.
    pub remarks: Vec<String>,
}

impl FormatMatch {
    /// Converts it to series with all remarks.
    pub fn into_import(self) -> Result<ImportedLinks, ImportError> {
        let mirrored = !matches!(
            self.format,
            LinkFileFormat::Trb | LinkFileFormat::Pairs | LinkFileFormat::Visits | LinkFileFormat::Samples
        );
        let cpus = self.collector.checked_cpus()?;
        let (series, counts) = self.collector.into_series(mirrored, &cpus)?;
        let mut imported = ImportedLinks {
            format: self.format,
            series,
            cpus,
            names_cpus: self.names_cpus,
            in_cycles: self.in_cycles,
            remarks: self.remarks,
        };
        let more = remarks::remarks_on(&imported, &counts);
        imported.remarks.extend(more);
        Ok(imported)
    }
}
