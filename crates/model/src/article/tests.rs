//! The built-in articles on several machines, and their tables, filled with results whose truth is known.

use corewise_machine::generate::one_package_machine;
use corewise_machine::machine_file::{self, MachineMatch};
use corewise_machine::random::RandomGenerator;
use corewise_machine::ring::RingSlots;
use corewise_machine::{CpuSet, Machine};
use serde::Serialize;
use serde_json::{Value, json};

use super::comparison::{ComparedRow, ReproducedAnswer, StepOutcome};
use super::{Article, ArticleLine, BUILT_IN};
use crate::artifact::ArtifactOrigin;
use crate::experiment_record::ExperimentRecord;
use crate::links::map::LinkSeries;
use crate::links::{CpuRelation, TalkWay};
use crate::simulate::layout::MachineLayout;
use crate::simulate::{CpuTruth, MachineNoise, simulate_link_map, simulate_links, simulate_survey};
use crate::trial::{Experiment, PlacementArm, Trial, TrialMetric, TrialOutcome, TriedWorkload};
use corewise_statistics::experiment::JudgingPolicy;

fn held(name: &str) -> Article {
    Article::parse(BUILT_IN.iter().find(|(held, _)| *held == name).unwrap().1).unwrap()
}

fn observed(artifact: &impl Serialize) -> Value {
    json!({ "observed": artifact })
}

/// Returns an article's table for the documents of its steps; a step without one has no result.
fn table(article: &Article, machine: &Machine, documents: &[Value]) -> Vec<ComparedRow> {
    let lines: Vec<Result<ArticleLine, String>> =
        article.steps.iter().map(|step| step.step_for_machine(machine, true)).collect();
    let outcomes: Vec<StepOutcome<'_>> = (article.steps.iter().zip(&lines).enumerate())
        .map(|(place, (step, line))| StepOutcome {
            title: &step.title,
            line: line.as_ref().map_err(String::as_str),
            document: documents.get(place).unwrap_or(&Value::Null),
        })
        .collect();
    article.compare_results(machine, &outcomes)
}

fn show_rows(rows: &[ComparedRow]) -> String {
    let show = |row: &ComparedRow| {
        let here = row.here.as_ref().map(|found| format!("{:.2}", found.ratio)).unwrap_or("–".into());
        format!("{}: {here} {}: {}\n", row.what, row.reproduced, row.why)
    };
    rows.iter().map(show).collect()
}

/// An experiment of 24 blocks with these rates on its arms, with noise of 1 %.
fn record(machine: &Machine, arms: Vec<PlacementArm>, rates: &[f64]) -> ExperimentRecord {
    let metric = TrialMetric { higher_is_better: true, ..TrialMetric::wall_time() };
    let mut random = RandomGenerator::new(7);
    let mut trials = Vec::new();
    for block in 1..=24 {
        for (arm, rate) in rates.iter().enumerate() {
            let value = TrialOutcome::Value(rate * (0.01 * random.next_normal()).exp());
            trials.push(Trial::new(block, arm as u32, arm, value));
        }
    }
    let experiment = Experiment {
        corewise: String::new(),
        started_unix_ms: 0,
        seed: 1,
        machine: machine.clone(),
        workload: TriedWorkload::new(vec!["simulated".to_owned()], "/".into(), metric),
        arms,
        policy: JudgingPolicy::default(),
        suite: None,
        stretch: None,
        origin: ArtifactOrigin::default(),
    };
    ExperimentRecord { experiment, trials }
}

fn placements(names: &[&str]) -> Vec<PlacementArm> {
    names.iter().map(|name| PlacementArm::new(*name, None, "")).collect()
}

/// A suite's document with an experiment for each name and its rates.
fn suite(machine: &Machine, arms: &[&str], benchmarks: &[(&str, &[f64])]) -> Value {
    let entry = |(name, rates): &(&str, &[f64])| json!({ "name": name, "experiment": observed(&record(machine, placements(arms), rates)) });
    json!({ "benchmarks": benchmarks.iter().map(entry).collect::<Vec<Value>>() })
}

#[test]
fn a_suite_is_compared_as_a_whole_by_benchmark_and_with_its_control() {
    let machine = MachineLayout { packages: 1, caches: 8, cores: 4, threads: 2, adjacent: false }.build_machine();
    let arms = ["OS default", "all - core:0", "all - core:last"];
    let review = suite(&machine, &arms, &[("one", &[1.0, 0.98, 0.98]), ("two", &[1.0, 1.0, 1.0])]);
    let workloads = suite(
        &machine,
        &arms,
        &[("particles", &[1.0, 0.9, 0.97]), ("gas, a thread for each cpu there is", &[1.0, 0.5, 0.54])],
    );
    let article = held("cpu0");
    insta::assert_snapshot!(show_rows(&table(&article, &machine, &[review.clone(), workloads.clone()])), @r"
    programs that reviews use, without the first core: mean: 0.99 yes: the whole interval is within what was published
    the same against the control, without the last core: 1.01 no: the interval excludes what was published
    the built-in workloads against the control: mean: 0.93 yes: a difference is proven, and the interval meets what was published
    a program with a thread for each cpu that it counts: 0.50 yes: a difference is proven, and the interval meets what was published
    LuxMark, both tests: – cannot be seen here: LuxMark is in neither suite
    games at low resolution: – cannot be seen here: no game is in the suites
    ");
    // One of two cores is half of the machine, but the control still tells.
    let small = one_package_machine(2, false, &[(CpuSet::first_cpus(2), 32)]);
    insta::assert_snapshot!(show_rows(&table(&article, &small, &[review, workloads])), @r"
    programs that reviews use, without the first core: mean: – cannot be seen here: it needs 32 cores; this machine has 2
    the same against the control, without the last core: 1.01 no: the interval excludes what was published
    the built-in workloads against the control: mean: 0.93 yes: a difference is proven, and the interval meets what was published
    a program with a thread for each cpu that it counts: – cannot be seen here: it needs 4 cores; this machine has 2
    LuxMark, both tests: – cannot be seen here: LuxMark is in neither suite
    games at low resolution: – cannot be seen here: no game is in the suites
    ");
}

#[test]
fn placeholders_of_a_row_are_those_of_its_step() {
    let machine = MachineLayout { packages: 1, caches: 1, cores: 3, threads: 2, adjacent: true }.build_machine();
    let arms = ["OS default", "spread(3, core)", "pack(3, core)"];
    let document = suite(&machine, &arms, &[("particles", &[1.0, 1.15, 1.0]), ("two", &[1.0, 1.1, 0.9])]);
    insta::assert_snapshot!(show_rows(&table(&held("modules"), &machine, &[document])), @r"
    four threads, one a module against two a module: mean: 1.19 yes: a difference is proven, and the interval meets what was published
    the same, particles: a program that only computes: 1.16 yes: a difference is proven, and the interval meets what was published
    clock rate, spread against packed: – cannot be seen here: no clock rate was measured
    particles, two threads on one cpu against two: – cannot be seen here: this machine has a better comparison: 3 objects of the level core with several parts each
    ");
}

#[test]
fn cpus_are_compared_round_by_round() {
    let machine = one_package_machine(
        32,
        true,
        &[("0-7,16-23", 96), ("8-15,24-31", 32)].map(|(cpus, size)| (CpuSet::parse_list(cpus).unwrap(), size)),
    );
    let survey = |lost| {
        let truth = |cpu| CpuTruth {
            piece_ns: if matches!(cpu, 8..=15 | 24..=31) { 255.0 } else { 262.0 },
            interrupts_per_s: if cpu == 0 { 111.0 } else { 38.0 },
            lost: if cpu == 0 { lost } else { 0.001 },
        };
        observed(&simulate_survey(machine.clone(), 24, 1, MachineNoise::Quiet, truth))
    };
    insta::assert_snapshot!(show_rows(&table(&held("core0"), &machine, &[survey(0.04)])), @r"
    mean time of a piece, cpu 0 against its neighbours: 1.05 yes: a difference is proven, and the interval meets what was published
    clock rate, cpu 0 against its neighbours: 1.00 no: the interval excludes what was published
    interrupts, cpu 0 against its neighbours: 2.86 yes: a difference is proven, and the interval meets what was published
    mean time of a piece, the die without stacked cache against the other: 0.97 yes: a difference is proven, and the interval meets what was published
    ");
    insta::assert_snapshot!(show_rows(&table(&held("core0"), &machine, &[survey(0.001)])), @r"
    mean time of a piece, cpu 0 against its neighbours: 1.00 no: the interval excludes what was published
    clock rate, cpu 0 against its neighbours: 1.00 no: the interval excludes what was published
    interrupts, cpu 0 against its neighbours: 2.86 yes: a difference is proven, and the interval meets what was published
    mean time of a piece, the die without stacked cache against the other: 0.97 yes: a difference is proven, and the interval meets what was published
    ");
}

#[test]
fn numbers_of_threads_are_those_of_the_machine() {
    let machine = one_package_machine(4, false, &[(CpuSet::first_cpus(4), 8)]);
    let cell = |threads, is_pinned: bool| PlacementArm {
        threads: Some(threads),
        cpus: is_pinned.then(|| machine.allowed.clone()),
        ..PlacementArm::new(format!("{threads} threads"), None, "")
    };
    let cells =
        [(4, false), (1, false), (8, false), (1, true), (4, true), (8, true)].map(|(threads, is)| cell(threads, is));
    let queue = observed(&record(&machine, cells.to_vec(), &[3.2, 1.0, 3.2, 1.0, 3.2, 2.95]));
    let shares = observed(&record(&machine, cells[..3].to_vec(), &[3.2, 1.0, 3.52]));
    let article = held("threads");
    insta::assert_snapshot!(show_rows(&table(&article, &machine, &[queue.clone(), shares])), @r"
    four threads against one: 3.21 yes: a difference is proven, and the interval meets what was published
    two threads a cpu against one, equal shares: 1.09 yes: a difference is proven, and the interval meets what was published
    two threads a cpu against one, from a queue: 1.00 no: the interval excludes what was published
    a thread a cpu, pinned against the OS default: 1.00 yes: the whole interval is within what was published
    two threads a cpu, pinned against the OS default: 0.92 yes: a difference is proven, and the interval meets what was published
    ");
    insta::assert_snapshot!(show_rows(&table(&article, &machine, &[queue])), @r"
    four threads against one: – cannot be seen here: the step has no result
    two threads a cpu against one, equal shares: – cannot be seen here: the step has no result
    two threads a cpu against one, from a queue: 1.00 no: the interval excludes what was published
    a thread a cpu, pinned against the OS default: 1.00 yes: the whole interval is within what was published
    two threads a cpu, pinned against the OS default: 0.92 yes: a difference is proven, and the interval meets what was published
    ");
}

#[test]
fn sends_are_compared_by_their_pairs() {
    let machine = MachineLayout { packages: 1, caches: 2, cores: 3, threads: 2, adjacent: false }.build_machine();
    let costs = |inside: f64, across: f64| {
        simulate_links(&machine, 3, |relation| match relation {
            CpuRelation::SameCore => inside / 2.0,
            CpuRelation::SameLlc => inside,
            _ => across,
        })
    };
    let mut map = simulate_link_map(&machine, 3, 0.0, |_, _, _| 30.0);
    let series = |what, links| LinkSeries { what, links, held_out: Vec::new() };
    map.series = vec![
        series(TalkWay::Channel { bound: Some(64) }, costs(70.0, 300.0)),
        series(TalkWay::Queue { slots: RingSlots::Packed }, costs(70.0, 300.0)),
        series(TalkWay::Queue { slots: RingSlots::Padded }, costs(70.0, 150.0)),
    ];
    let pipeline = record(&machine, placements(&["OS default", "pack(3, llc)"]), &[136.0, 400.0]);
    let documents = [observed(&map), observed(&pipeline)];
    insta::assert_snapshot!(show_rows(&table(&held("channels"), &machine, &documents)), @r"
    a send across groups against one inside: 4.30 yes: a difference is proven, and the interval meets what was published
    padded slots against packed ones, across groups: 0.50 yes: a difference is proven, and the interval meets what was published
    padded slots against packed ones, inside a group: 1.00 no: the interval excludes what was published
    the pipeline on three cores of one group: 2.94 yes: a difference is proven, and the interval meets what was published
    the pipeline on one cpu, the closest that equal cpus have: – cannot be seen here: this machine has a better comparison: 2 objects of the level llc with several parts each
    ");
    let alone = one_package_machine(2, false, &[(CpuSet::first_cpus(2), 32)]);
    let mut map = simulate_link_map(&alone, 3, 0.0, |_, _, _| 30.0);
    map.series[0].what = TalkWay::Channel { bound: Some(64) };
    insta::assert_snapshot!(show_rows(&table(&held("channels"), &alone, &[observed(&map)])), @r"
    a send across groups against one inside: – cannot be seen here: this machine does not have two last-level caches
    padded slots against packed ones, across groups: – cannot be seen here: this way was not measured
    padded slots against packed ones, inside a group: – cannot be seen here: this way was not measured
    the pipeline on three cores of one group: – cannot be seen here: this machine does not have two llcs or clusters or cores with several usable parts each
    the pipeline on one cpu, the closest that equal cpus have: – cannot be seen here: the step has no result
    ");
}

#[test]
fn a_row_that_cannot_be_filled_is_refused() {
    let text = |row: &str| {
        format!(
            "name = \"a\"\nquestion = \"b\"\nsource = \"c\"\npublished = \"d\"\nlook = \"e\"\n[[step]]\ntitle = \"f\"\n\
             command = [\"try\"]\n[[row]]\nwhat = \"g\"\npublished = \"h\"\n{row}"
        )
    };
    let measure = "measure = { of = \"effect\", on = \"0\" }\n";
    for (row, error) in [
        (String::new(), "row \"g\": it needs `step`, `measure` and `range`, or `unseen` alone"),
        (format!("step = \"x\"\nrange = [1, 2]\n{measure}"), "row \"g\": there is no step \"x\""),
        (format!("step = \"f\"\nrange = [2, 1]\n{measure}"), "row \"g\": its range needs two ratios"),
        ("measure = { of = \"taste\" }".to_owned(), "line 12: unknown variant `taste`"),
    ] {
        let found = Article::parse(&text(&row)).unwrap_err().to_string();
        assert!(found.starts_with(error), "{found}");
    }
    let own = Article::parse(&text(&format!("step = \"f\"\nrange = [1, inf]\n{measure}"))).unwrap();
    let machine = one_package_machine(2, false, &[(CpuSet::first_cpus(2), 32)]);
    let row = &table(&own, &machine, &[])[0];
    assert_eq!((row.range, row.reproduced), (Some([Some(1.0), None]), ReproducedAnswer::CannotBeSeen));
    assert_eq!(row.why, "the step has no result");
}

#[test]
fn all_that_are_held_can_be_read_and_have_steps() {
    for (name, text) in BUILT_IN {
        let article = Article::parse(text).unwrap();
        assert_eq!(article.name, name);
        assert!(!article.steps.is_empty(), "{name}");
    }
}

#[test]
fn four_threads_are_packed_or_spread_over_what_a_machine_has() {
    let article = held("modules");
    let step = article.steps.iter().find(|step| !step.shared.is_empty()).unwrap();
    let line = |machine: &Machine| step.step_for_machine(machine, true).unwrap().words.join(" ");
    // Modules of two cores; threads of cores; caches of cores.
    let MachineMatch::Exactly(fx) = machine_file::find_built_in("fx-8150") else { panic!("it is held") };
    let fx = fx.read_machine().unwrap().machine;
    assert!(line(&fx).contains("spread(4, cluster)") && line(&fx).contains("pack(4, cluster)"), "{}", line(&fx));
    let smt = MachineLayout { packages: 1, caches: 1, cores: 3, threads: 2, adjacent: true }.build_machine();
    assert!(line(&smt).contains("spread(3, core)"), "{}", line(&smt));
    let caches = MachineLayout { packages: 1, caches: 2, cores: 4, threads: 1, adjacent: false }.build_machine();
    assert!(line(&caches).contains("spread(2, llc)"), "{}", line(&caches));
    let none = MachineLayout { packages: 1, caches: 1, cores: 2, threads: 1, adjacent: false }.build_machine();
    let why = step.step_for_machine(&none, true).unwrap_err();
    assert!(why.contains("not have two clusters or cores or"), "{why}");
}

#[test]
fn where_cpus_share_nothing_one_cpu_takes_its_place() {
    let alone = MachineLayout { packages: 1, caches: 1, cores: 2, threads: 1, adjacent: false }.build_machine();
    let caches = MachineLayout { packages: 1, caches: 2, cores: 4, threads: 1, adjacent: false }.build_machine();
    for name in ["modules", "channels"] {
        let article = held(name);
        let step = article.steps.iter().find(|step| !step.without.is_empty()).unwrap();
        let line = step.step_for_machine(&alone, true).unwrap();
        assert!(line.words.contains(&"pack(1, core)".to_owned()) && line.remark.is_none(), "{line:?}");
        let why = step.step_for_machine(&caches, true).unwrap_err();
        assert!(why.ends_with("2 objects of the level llc with several parts each"), "{why}");
        // One of the two can always be made.
        assert!(
            article.steps.iter().any(|step| !step.shared.is_empty() && step.step_for_machine(&caches, true).is_ok())
        );
    }
}

#[test]
fn more_words_stand_before_the_program_that_is_tried() {
    let text = r#"
        name = "a"
        question = "b"
        source = "c"
        published = "d"
        look = "e"
        [[step]]
        title = "f"
        command = ["try", "--", "x"]
        quick = ["--budget", "9s"]
        usual = ["--budget", "9m"]
    "#;
    let machine = MachineLayout { packages: 1, caches: 1, cores: 2, threads: 1, adjacent: false }.build_machine();
    let step = &Article::parse(text).unwrap().steps[0];
    assert_eq!(step.step_for_machine(&machine, true).unwrap().words, ["try", "--budget", "9s", "--", "x"]);
    assert_eq!(step.step_for_machine(&machine, false).unwrap().words, ["try", "--budget", "9m", "--", "x"]);
    for (wrong, told) in [
        (text.replace("[\"try\"", "[\"rm\""), "step \"f\": its command must begin with"),
        (text.replace("\"x\"]", "\"{n}\"]"), "step \"f\": {level} and {n} need `shared`"),
        (text.replace("look", "see"), "line 6: unknown field `see`"),
    ] {
        let error = Article::parse(&wrong).unwrap_err().to_string();
        assert!(error.starts_with(told), "{error}");
    }
}
