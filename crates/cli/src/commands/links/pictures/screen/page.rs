//! A map of links on a page: the answer first, then what it rests on.

use corewise_machine::suggested_command;
use corewise_model::links::conclude::LinkConclusions;
use corewise_model::links::map::{LinkMap, Origin};

use super::{costs, footer, group_lines, opening, remark};
use crate::commands::links::pictures::sends::sends;
use crate::draw::findings::meaning;
use crate::draw::page::{Block, Figure, Story, WIDTH};
use crate::draw::suggestion::words_in_shell;
use crate::draw::survey::Kept;

/// What a page says of a map, of which `picture` is the heat map.
pub fn story(map: &LinkMap, conclusions: &LinkConclusions, kept: &Kept, picture: String) -> Story {
    let figure = Figure {
        name: "map",
        title: "What talking between each two cpus costs".to_owned(),
        caption: "A row and a column for each cpu. Cpus that talk cheaply among themselves make a square of one colour along the diagonal. \
                  Predicted costs are pale."
            .to_owned(),
        svg: picture,
    };
    let mut evidence = vec![Block::Lines(costs(map.unit, &conclusions.kinds, WIDTH))];
    evidence.extend(conclusions.groups.as_ref().map(|groups| Block::Lines(group_lines(groups, WIDTH))));
    evidence.push(Block::Figure(figure));
    evidence.push(Block::Lines(sends(map, WIDTH)));
    let command = match &map.provenance.origin {
        Origin::Imported { file, .. } => suggested_command::links_import(file),
        Origin::Simulated { file } => suggested_command::links_simulated(file, map.provenance.seed),
        Origin::Measured => suggested_command::links(),
    };
    Story {
        head: opening(map, conclusions, kept, WIDTH).into_lines(),
        answer: meaning(
            remark(conclusions, map.unit).as_deref(),
            &conclusions.findings,
            &conclusions.no_difference,
            WIDTH,
        ),
        evidence,
        besides: footer(map, conclusions, kept, WIDTH),
        command: words_in_shell(command.words()),
    }
}
