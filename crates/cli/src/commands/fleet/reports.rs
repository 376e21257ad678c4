//! Reports of visits as they come from nodes: checked, and added to a fleet.

use corewise_model::fleet::visit_report::VisitReport;
use corewise_sys::input::read_json;

/// Reads the JSON of a report and checks it.
///
/// # Errors
/// One sentence.
pub fn read_report(json: &[u8]) -> Result<VisitReport, String> {
    let report: VisitReport = read_json(json).map_err(|error| format!("it is no report of a visit: {error}"))?;
    report.check()?;
    Ok(report)
}
