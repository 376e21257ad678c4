//! Where the threads of a talk graph would go on a machine: a cpu for each, and from that the placements to try.

use std::collections::BTreeMap;

use corewise_machine::placement::describe_cpus;
use corewise_machine::{CpuSet, Level, Machine};
use corewise_statistics::mapping::MappingProblem;
use schemars::JsonSchema;
use serde::Serialize;

use super::costs::{CostSource, MessageCosts};
use super::fold::{FoldedTalk, MOST_THREADS, NUMBER_SIGN};
use super::{TalkGraph, TalkSource, VertexKind};

/// Smallest share of a message's cost on random cpus that a placement has to save: the margin of `try`, which a program that only talks would
/// not reach with less.
const LEAST_SAVED: f64 = 0.03;
/// Maximum number of roles of a placement.
const MOST_ROLES: usize = 32;
/// Number of threads that may share a cpu if there are cpus for all.
const SEATS: usize = 2;
/// Levels with objects for a group, in the order of preference: the first is taken that restricts anything.
const LEVELS: [Level; 5] = [Level::Llc, Level::Cluster, Level::Die, Level::Node, Level::Package];

/// Where the threads would go, and the placements to try. Nothing of it is proven.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TalkPlan {
    /// The cpus of each placed vertex of the folded graph.
    pub places: Vec<PlannedPlace>,
    /// The placements to try, the widest first; none if messages cost as much everywhere.
    pub proposals: Vec<TalkProposal>,
    /// Predicted mean cost of a wake's message, in nanoseconds of the costs' own kind.
    pub message_ns: f64,
    /// The same for threads that are spread at random.
    pub random_ns: f64,
    /// Where the costs come from.
    pub costs: CostSource,
    /// Number of threads without a place of their own.
    pub left_out: usize,
}

/// Cpus of one vertex.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PlannedPlace {
    /// The vertex.
    pub vertex: usize,
    /// A cpu for each of its threads.
    pub cpus: CpuSet,
}

/// A placement to try.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TalkProposal {
    /// Placement of the whole program; absent if its threads get their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// Placements of threads by their names; all others are left to the system.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<PlannedRole>,
    /// Reason to try it.
    pub reason: String,
}

/// Placement of the threads with certain names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlannedRole {
    /// Name of the role.
    pub name: String,
    /// Regular expression of the threads' names.
    pub pattern: String,
    /// Placement in the placement language.
    pub expression: String,
}

impl TalkProposal {
    /// Returns the placement as `try --on` takes it: "reader=0, parser=1", or "llc:0".
    pub fn choice_text(&self) -> String {
        let role = |role: &PlannedRole| format!("{}={}", role.name, role.expression);
        self.on.clone().unwrap_or_else(|| self.roles.iter().map(role).collect::<Vec<_>>().join(", "))
    }

    /// Returns the roles as `run --roles` takes them: "reader=^reader$:0,parser=^parser$:1".
    pub fn roles_text(&self) -> String {
        let role = |role: &PlannedRole| format!("{}={}:{}", role.name, role.pattern, role.expression);
        self.roles.iter().map(role).collect::<Vec<_>>().join(",")
    }
}

/// A thread to be placed: a vertex of the observed graph, or one of the threads of a pool there.
#[derive(Clone, Copy, Debug)]
struct PlannedThread {
    vertex: usize,
    /// Share of the vertex: 1, or less for one thread of a pool.
    share: f64,
}

/// Plans the placement of a graph's threads on some cpus of a machine. `None` if there are no two cpus, or no talk between threads.
pub fn plan_talk(graph: &TalkGraph, folded: &FoldedTalk, machine: &Machine, costs: &MessageCosts) -> Option<TalkPlan> {
    let (threads, left_out) = list_threads(graph);
    let cpus = costs.cpus();
    if cpus.len() < 2 || threads.is_empty() {
        return None;
    }
    let problem = build_problem(graph, &threads, machine, costs);
    let rate: f64 = problem.talk.iter().map(|(.., rate)| rate).sum();
    if rate <= 0.0 {
        return None;
    }
    let assigned = problem.assign_threads();
    let mut of_vertices: BTreeMap<usize, CpuSet> = BTreeMap::new();
    for (thread, cpu) in threads.iter().zip(&assigned) {
        of_vertices.entry(thread.vertex).or_default().insert(cpus[*cpu]);
    }
    let place = |(vertex, members): (usize, &Vec<usize>)| {
        let cpus = members.iter().filter_map(|member| of_vertices.get(member));
        let cpus = cpus.fold(CpuSet::new(), |all, own| all.union(own));
        (!cpus.is_empty()).then_some(PlannedPlace { vertex, cpus })
    };
    let places: Vec<PlannedPlace> = folded.members.iter().enumerate().filter_map(place).collect();
    let (message_ns, random_ns) = (1e9 * talk_of_pairs(&problem, &assigned) / rate, costs.mean_ns());
    let saves = message_ns <= random_ns * (1.0 - LEAST_SAVED);
    Some(TalkPlan {
        proposals: if saves { list_proposals(folded, &places, machine, costs) } else { Vec::new() },
        places,
        message_ns,
        random_ns,
        costs: costs.source,
        left_out,
    })
}

fn talk_of_pairs(problem: &MappingProblem, assigned: &[usize]) -> f64 {
    MappingProblem { anchors: Vec::new(), ..problem.clone() }.talk_cost(assigned)
}

/// Returns the threads that are placed, those with the most talk and work first, and the number of others.
fn list_threads(graph: &TalkGraph) -> (Vec<PlannedThread>, usize) {
    let weights = graph.vertex_weights();
    let most = weights.iter().fold(f64::MIN_POSITIVE, |most, own| most.max(*own));
    let is_thread = |vertex: &usize| graph.vertices[*vertex].kind.is_thread();
    let mut vertices: Vec<usize> = (0..graph.vertices.len()).filter(is_thread).collect();
    let key = |vertex: usize| weights[vertex] / most + graph.vertices[vertex].busy_share;
    vertices.sort_by(|a, b| key(*b).total_cmp(&key(*a)).then(a.cmp(b)));
    let all: usize = vertices.iter().map(|vertex| graph.vertices[*vertex].kind.count_threads() as usize).sum();
    let each = |vertex: usize| {
        let count = graph.vertices[vertex].kind.count_threads();
        (0..count).map(move |_| PlannedThread { vertex, share: 1.0 / f64::from(count) })
    };
    let threads: Vec<PlannedThread> = vertices.into_iter().flat_map(each).take(MOST_THREADS).collect();
    let left_out = all - threads.len();
    (threads, left_out)
}

fn build_problem(
    graph: &TalkGraph,
    threads: &[PlannedThread],
    machine: &Machine,
    costs: &MessageCosts,
) -> MappingProblem {
    let cpus = costs.cpus();
    let mut of_vertex: Vec<Vec<usize>> = vec![Vec::new(); graph.vertices.len()];
    threads.iter().enumerate().for_each(|(at, thread)| of_vertex[thread.vertex].push(at));
    let mut talk: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    let mut anchors = Vec::new();
    for edge in &graph.edges {
        let rate = edge.wakes / graph.seconds;
        for &a in &of_vertex[edge.waker] {
            for &b in of_vertex[edge.wakee].iter().filter(|b| **b != a) {
                let share = rate * threads[a].share * threads[b].share;
                *talk.entry((a.min(b), a.max(b))).or_insert(0.0) += share;
            }
        }
        for (end, other) in [(edge.waker, edge.wakee), (edge.wakee, edge.waker)] {
            if let VertexKind::Interrupt { .. } = graph.vertices[end].kind {
                anchors.resize(threads.len() * cpus.len(), 0.0);
                for &thread in &of_vertex[other] {
                    let share = rate * threads[thread].share;
                    costs.add_distances(
                        &graph.vertices[end].cpus,
                        share,
                        &mut anchors[thread * cpus.len()..][..cpus.len()],
                    );
                }
            }
        }
    }
    MappingProblem {
        busy: threads.iter().map(|thread| busy_of(graph, *thread)).collect(),
        talk: talk.into_iter().map(|((a, b), rate)| (a, b, rate)).collect(),
        costs: costs.to_seconds(),
        cores: cpus.iter().map(|cpu| machine.index_of(Level::Core, *cpu).unwrap_or_default()).collect(),
        seats: threads.len().div_ceil(cpus.len()).max(SEATS),
        anchors,
    }
}

/// Returns the share of the time in which a thread computes. Files do not say it: their threads get a core each if there are enough.
fn busy_of(graph: &TalkGraph, thread: PlannedThread) -> f64 {
    match graph.source {
        TalkSource::File => 1.0,
        _ => graph.vertices[thread.vertex].busy_share * thread.share,
    }
}

/// Returns the placements to try: on whole objects of the machine, and each thread on its own cpu.
fn list_proposals(
    folded: &FoldedTalk,
    places: &[PlannedPlace],
    machine: &Machine,
    costs: &MessageCosts,
) -> Vec<TalkProposal> {
    let usable: CpuSet = costs.cpus().iter().copied().collect();
    let named = name_roles(folded, places);
    let mut proposals: Vec<TalkProposal> = Vec::new();
    let everywhere = named.iter().map(|_| usable.clone()).collect::<Vec<_>>();
    let of_level = |level: Level| {
        let objects = machine.objects_of(level);
        let cover = |role: &NamedRole| {
            let touched = objects.iter().filter(|object| !object.is_disjoint(&role.cpus));
            touched.fold(CpuSet::new(), |all, object| all.union(object)).intersection(&usable)
        };
        let covers: Vec<CpuSet> = named.iter().map(cover).collect();
        let cores = |object: &CpuSet| {
            let cores: Vec<_> = object.iter().map(|cpu| machine.index_of(Level::Core, cpu)).collect();
            cores.windows(2).any(|pair| pair[0] != pair[1])
        };
        let is_of_use = objects.iter().any(cores) && covers != everywhere && covers.iter().all(|cpus| !cpus.is_empty());
        is_of_use.then_some((level, covers))
    };
    if let Some((level, covers)) = LEVELS.into_iter().find_map(of_level) {
        let reason = format!("those that wake each other share {}", article_of(level));
        proposals.push(compose_proposal(&named, &covers, machine, reason));
    }
    let exact: Vec<CpuSet> = named.iter().map(|role| role.cpus.clone()).collect();
    if exact != everywhere {
        let reason = "each thread has the cpu where its talk costs least".to_owned();
        proposals.push(compose_proposal(&named, &exact, machine, reason));
    }
    proposals
}

fn article_of(level: Level) -> String {
    format!("{} {level}", if level == Level::Llc { "an" } else { "a" })
}

fn compose_proposal(named: &[NamedRole], cpus: &[CpuSet], machine: &Machine, reason: String) -> TalkProposal {
    let first = &cpus[0];
    if cpus.iter().all(|own| own == first) {
        return TalkProposal { on: Some(describe_cpus(first, machine)), roles: Vec::new(), reason };
    }
    let role = |(role, cpus): (&NamedRole, &CpuSet)| PlannedRole {
        name: role.name.clone(),
        pattern: role.pattern.clone(),
        expression: describe_cpus(cpus, machine),
    };
    TalkProposal { on: None, roles: named.iter().zip(cpus).map(role).collect(), reason }
}

/// Threads that a pattern of names selects, and their cpus.
#[derive(Clone, Debug)]
struct NamedRole {
    name: String,
    pattern: String,
    cpus: CpuSet,
}

/// Returns a role for each name, in the order of the folded graph. Threads of one name are indistinguishable, so they share their cpus.
fn name_roles(folded: &FoldedTalk, places: &[PlannedPlace]) -> Vec<NamedRole> {
    let mut named: Vec<NamedRole> = Vec::new();
    for place in places {
        let vertex = &folded.vertices[place.vertex];
        let pattern = pattern_of_name(&vertex.name, folded.members[place.vertex].len() > 1);
        match named.iter().position(|role| role.pattern == pattern) {
            Some(known) => named[known].cpus = named[known].cpus.union(&place.cpus),
            None if named.len() < MOST_ROLES => {
                let name = unique_name(&vertex.name, &named);
                named.push(NamedRole { name, pattern, cpus: place.cpus.clone() });
            }
            None => {}
        }
    }
    named
}

/// Returns a regular expression that matches exactly this name, or, of a pool, the names that differ from it in numbers. Whatever a name
/// holds, the expression is printable, has no colon, and no comma or quotation mark.
pub fn pattern_of_name(name: &str, is_pool: bool) -> String {
    let mut pattern = String::from("^");
    for character in name.chars() {
        match character {
            NUMBER_SIGN if is_pool => pattern.push_str("[0-9]+"),
            _ if character.is_ascii_alphanumeric() || "-_ /".contains(character) => pattern.push(character),
            _ => pattern.push_str(&format!("\\x{{{:x}}}", u32::from(character))),
        }
    }
    pattern.push('$');
    pattern
}

/// Returns a name of a role that is like a thread's: letters, digits and hyphens, a letter first.
fn unique_name(name: &str, named: &[NamedRole]) -> String {
    let words: Vec<&str> =
        name.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let word = words.join("-");
    let is_name = word.starts_with(|first: char| first.is_ascii_alphabetic()) && !RESERVED.contains(&word.as_str());
    let base = if is_name { word } else { format!("thread-{word}").trim_end_matches('-').to_owned() };
    let is_free = |name: &String| named.iter().all(|role| role.name != *name);
    let numbered = |number: usize| format!("{base}-{number}");
    std::iter::once(base.clone()).chain((2..).map(numbered)).find(is_free).unwrap_or_default()
}

/// Names that other roles have.
const RESERVED: [&str; 2] = [crate::trial::LOAD, crate::trial::REST];
