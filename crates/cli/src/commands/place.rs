//! `corewise place`: shows a placement on a machine: drawn, counted, and in the notations of other tools.

pub mod arguments;
pub mod document;

pub mod candidates;
pub mod screen;
pub mod task;

use corewise_machine::Machine;
use corewise_machine::placement::notation::{self, Notation, NotationLine, Read};
use corewise_machine::placement::{Expression, LeftOut, Reason};

use crate::app::failure::{Exit, Failure};
use crate::app::machine::{self, Chosen, MachineChoice};
use crate::app::output::{print_text, say, show};
use crate::app::placing::{expression, pointed, resolve_elsewhere, resolve_here, shortened};
use crate::app::run::{Document, Run, document};
use crate::app::settings::Settings;
use arguments::PlaceArguments;
use document::{PlaceDocument, Placed};
use screen::screen;
use task::{CandidatesRequest, PlaceRequest};

impl Run for PlaceArguments {
    const DOCUMENTS: &'static [Document] = &[
        document::<PlaceDocument<'_>>(&["place all-core:0 --machine 2990wx"]),
        document::<candidates::document::CandidatesDocument<'_>>(&[
            "place --candidates --machine 2990wx",
            "place --candidates --threads 100",
        ]),
    ];

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        if self.candidates {
            return candidates::run(&CandidatesRequest::new(&self)?, settings);
        }
        run(&PlaceRequest::new(self)?, settings)
    }
}

fn run(request: &PlaceRequest, settings: &Settings) -> Result<Exit, Failure> {
    let Chosen { machine, description } = machine::read(&request.machine)?;
    let (expression, read) = written(request, &machine)?;
    let resolution = match request.machine {
        MachineChoice::Here => resolve_here(&expression, &machine, settings)?,
        _ => resolve_elsewhere(&expression, &machine)?,
    };
    let placed = Placed {
        machine: &machine,
        text: &request.text,
        resolution: &resolution,
        read: read.as_ref(),
        description: description.as_ref(),
    };
    match request.alone {
        Some(notation) if !settings.json => alone(notation, &placed)?,
        _ => show(settings, || PlaceDocument::new(&placed), || screen(&placed, settings.width))?,
    }
    Ok(Exit::Done)
}

/// Parses the expression, in our language or another tool's notation.
fn written(request: &PlaceRequest, machine: &Machine) -> Result<(Expression, Option<Read>), Failure> {
    let Some(from) = request.from else { return Ok((expression(&request.text)?, None)) };
    let read = notation::read(from, &request.text, machine).map_err(|error| {
        let at = error.position..error.position + error.length;
        let failure = Failure::usage(pointed(&error.what, &error.text, &at));
        error.hint.map(|hint| shortened(&hint)).into_iter().fold(failure, Failure::next)
    })?;
    let there: Vec<u32> = read.order.iter().copied().filter(|cpu| machine.present.contains(*cpu)).collect();
    if there.is_empty() {
        return Err(Failure::unavailable(format!("{}: this machine has cpus {}", read.cpus, machine.present)));
    }
    let list = there.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    Ok((expression(&list)?, Some(read)))
}

/// Prints only the lines of one notation, for a script. Remarks go to standard error.
fn alone(notation: Notation, placed: &Placed<'_>) -> Result<(), Failure> {
    let lines = notation::print(notation, &placed.resolution.cpus, &placed.resolution.order, placed.machine);
    let wanted: Vec<&NotationLine> = lines.iter().filter(|line| !line.secondary).collect();
    let mut remarks: Vec<&str> = Vec::new();
    for remark in wanted.iter().flat_map(|line| &line.remarks) {
        if !remarks.contains(&remark.as_str()) {
            remarks.push(remark);
        }
    }
    let texts: Vec<&str> = wanted.iter().filter_map(|line| line.text.as_deref()).collect();
    if texts.is_empty() {
        return Err(Failure::unavailable(format!("{}: {}", notation.word(), remarks.join(" "))));
    }
    placed.read.into_iter().flat_map(|read| &read.remarks).for_each(|remark| say(&format!("note: {remark}")));
    // The remarks of the notation already name the offline cpus.
    let is_said = |out: &&LeftOut| placed.read.is_some() && out.reason == Reason::Offline;
    for out in placed.resolution.left_out.iter().filter(|out| !is_said(out)) {
        say(&format!("left out: {} ({})", out.cpus, out.reason.words()));
    }
    let notes = placed.resolution.notes.iter().map(String::as_str);
    notes.chain(remarks).for_each(|remark| say(&format!("note: {remark}")));
    print_text(&texts.join("\n"))
}
