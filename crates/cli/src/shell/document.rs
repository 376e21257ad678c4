//! The JSON document.

use corewise_model::Survey;
use corewise_model::survey::conclude::Conclusions;
use schemars::JsonSchema;
use serde::Serialize;

/// What `corewise survey --json` and `corewise history show --json` print.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/survey/1")]
pub struct SurveyDocument<'a> {
    #[schemars(extend("const" = "corewise/survey/1"))]
    schema: &'static str,
    /// What was observed.
    survey: &'a Survey,
    /// What it shows.
    conclusions: &'a Conclusions,
    /// Its number in the history; null where it is not stored.
    stored: Option<i64>,
}

impl<'a> SurveyDocument<'a> {
    /// The document of a survey.
    pub fn new(survey: &'a Survey, conclusions: &'a Conclusions, stored: Option<i64>) -> Self {
        Self { schema: "corewise/survey/1", survey, conclusions, stored }
    }
}
