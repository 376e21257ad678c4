use corewise_keep::KeepStatus;
use corewise_machine::placement::ResolveContext;
use corewise_machine::{CpuSet, Machine};
use corewise_model::keep::{
    ChargedUser, EvidenceChange, KeepActionOutcome, ObservedThread, ResolvedRule, WaitingProcess, parse_rules,
    resolve_rules,
};
use insta::assert_snapshot;

use super::*;
use crate::draw::fixtures::hostile;

const RULES: &str = r#"
[[rule]]
name = "redis"
match = { exe = "*/redis-server" }
on = "1-3"
evidence = { experiment = 12, effect = 0.061, interval = [0.042, 0.080], error_rate = 0.05, fingerprint = "ab12" }
[[rule]]
name = "builds"
match = { name = "cc1plus" }
on = "0"
disabled = true
[[rule]]
name = "far"
match = { name = "far" }
on = "node:3"
"#;

fn resolved() -> Vec<ResolvedRule> {
    let all = CpuSet::first_cpus(4);
    let machine = Machine {
        possible: all.clone(),
        present: all.clone(),
        online: all.clone(),
        allowed: all,
        ..Machine::default()
    };
    let mut found = resolve_rules(
        &parse_rules(RULES).unwrap(),
        &ResolveContext { machine: &machine, reachable: &machine.online, quiet: None, worth: None },
    );
    found[0].changes = vec![EvidenceChange { what: "kernel".into(), was: "7.1".into(), is: "7.2".into() }];
    found
}

fn process(name: &str) -> ObservedProcess {
    let thread = |id| ObservedThread { id, name: name.into(), cpus: CpuSet::first_cpus(4), start_ticks: 1 };
    ObservedProcess {
        id: 4711,
        name: name.into(),
        exe: Some(format!("/usr/bin/{name}")),
        cgroup: "/kubepods/pod1".into(),
        reachable: CpuSet::first_cpus(4),
        threads: vec![thread(4711), thread(4712)],
        ..ObservedProcess::default()
    }
}

/// A keeper that holds a process, and its state.
fn held(name: &str) -> KeeperState<'static> {
    let mut keeper = RuleKeeper::new(resolved());
    keeper.plan_actions(&process(name), Duration::from_secs(3), &|_| MaskAuthor::Unknown);
    let status = KeepStatus {
        sight: "by events".into(),
        processes: std::borrow::Cow::Owned(keeper.processes().clone()),
        ..KeepStatus::default()
    };
    KeeperState {
        process: 1,
        start_ticks: 1,
        started_unix_ms: 0,
        boot: String::new(),
        of_system: false,
        rules: "rules.toml".into(),
        status,
    }
}

/// The list of rules, with or without their keeper.
fn list(rules: &[ResolvedRule], running: Option<&KeeperState<'_>>, width: usize) -> TextScreen {
    screen::draw_list(&listed(rules, running), width)
}

fn listed<'a>(rules: &'a [ResolvedRule], running: Option<&'a KeeperState<'a>>) -> KeepDocument<'a> {
    KeepDocument { schema: "corewise/keep/1", place: "rules.toml".into(), rules, running, others: Vec::new() }
}

/// A keeper of another user, or of the system if its rules are known.
fn mention(user: &str, rules: Option<&str>) -> KeeperMention {
    KeeperMention { process: 815, user: user.into(), of_system: rules.map(|_| true), rules: rules.map(str::to_owned) }
}

#[test]
fn rules_and_what_they_hold() {
    let rules = resolved();
    let plain = |running: Option<&KeeperState<'_>>, width| list(&rules, running, width).to_plain();
    assert_snapshot!(plain(Some(&held("redis-server")), 100), @r"
    2 threads of 1 process held; processes are seen by events

    rule    on               holds              evidence                          corrected  state
    redis   1-3              redis-server 4711  +6.1 % [4.2, 8.0], experiment 12          0  unproven
    builds  0                –                  none                                      0  disabled
    far     node:3 (no cpu)  –                  none                                      0  no cpu here

    redis is unproven here: kernel was 7.1, is 7.2
    far: node:3: this machine has node:0 only
    ");
    assert_snapshot!(plain(None, 60), @r"
    Nothing keeps these rules in force. Next:  corewise keep run

    rule    on               holds  evidence         state
    redis   1-3              –      +6.1 % [4.2, 8…  unproven
    builds  0                –      none             disabled
    far     node:3 (no cpu)  –      none             no cpu here
    Hidden at this width: corrected

    redis is unproven here: kernel was 7.1, is 7.2
    far: node:3: this machine has node:0 only
    ");
    assert_snapshot!(list(&[], None, 80).to_plain(), @r"
    No rules in rules.toml.
    Next:  corewise keep add NAME --match 'exe=*/PROGRAM' --on EXPR
    ");
}

/// A keeper with room for one of two processes, and its state.
fn crowded(name: &str) -> KeeperState<'static> {
    let mut keeper = RuleKeeper::new(resolved());
    let mut large = process("redis-server");
    large.threads =
        (10_000..15_000).map(|id| ObservedThread { id, start_ticks: 1, ..ObservedThread::default() }).collect();
    large.charged_to = ChargedUser { name: name.into(), is_system: false };
    let small = ObservedProcess { id: 4712, ..process("redis-server") };
    for seen in [&large, &small] {
        keeper.plan_actions(seen, Duration::from_secs(3), &|_| MaskAuthor::Unknown);
    }
    let mut state = held("redis-server");
    state.status.processes = std::borrow::Cow::Owned(keeper.processes().clone());
    state.status.waiting = std::borrow::Cow::Owned(keeper.waiting().clone());
    state
}

#[test]
fn processes_that_have_no_room_are_listed_and_say_why() {
    let (rules, state) = (resolved(), crowded("eve"));
    let list = list(&rules[..1], Some(&state), 100).to_plain();
    assert!(list.starts_with("2 threads of 1 process held;"), "{list}");
    let expected = "redis: no room for 1 process of eve with 5,000 threads; at most 5,000 threads are held";
    assert!(list.contains(expected), "{list}");
    let redis = process("redis-server");
    let reasons =
        KeepWhyDocument { waiting: state.status.waiting.get(&4711), ..reasons(&redis, None, Some(&rules[0]), None) };
    assert_snapshot!(screen::draw_explanation(&reasons, &TimeZone::UTC, 80).to_plain(), @r"
    redis-server (4711) may run on cpus 0-3 (2 threads). Rule redis matches, but
      there is no room.
    Proven: +6.1 % [4.2, 8.0], experiment 12, error rate 5 %, on machine ab12.
    Unproven since: kernel was 7.1, is 7.2.
    2023-11-14 22:13:23  no room for its 5,000 threads: at most 5,000 threads are
      held, shared among users and rules; it is placed when others leave room
    Nothing restricts it: these are all cpus that its control group lets it use.
    ");
}

/// A keeper that could place no thread of a process, and its state.
fn refused(why: &str) -> KeeperState<'static> {
    let mut keeper = RuleKeeper::new(resolved());
    let at = Duration::from_secs(3);
    for action in keeper.plan_actions(&process("redis-server"), at, &|_| MaskAuthor::Unknown) {
        keeper.settle_action(&action, KeepActionOutcome::Refused(why.into()), at);
    }
    let mut state = held("redis-server");
    state.status.processes = std::borrow::Cow::Owned(keeper.processes().clone());
    state
}

#[test]
fn what_could_not_be_placed_is_not_called_held() {
    let (rules, state, redis) = (resolved(), refused("No space left on device"), process("redis-server"));
    let list = list(&rules[..1], Some(&state), 100).to_plain();
    assert!(list.starts_with("0 threads of 1 process held;"), "{list}");
    let expected = "redis: 2 threads could not be placed yet, and will be tried again within 5 minutes";
    assert!(list.contains(expected), "{list}");
    let held = state.status.processes.get(&4711);
    let reasons = reasons(&redis, held, Some(&rules[0]), None);
    assert_snapshot!(screen::draw_explanation(&reasons, &TimeZone::UTC, 80).to_plain(), @r"
    redis-server (4711) may run on cpus 0-3 (2 threads). Rule redis matches, but
      could not place it yet.
    Not placed: 2 threads could not be placed yet, and will be tried again within 5
      minutes: No space left on device.
    Proven: +6.1 % [4.2, 8.0], experiment 12, error rate 5 %, on machine ab12.
    Unproven since: kernel was 7.1, is 7.2.
    2023-11-14 22:13:23  rule redis matches
    2023-11-14 22:13:23  thread 4711 was not placed: No space left on device
    2023-11-14 22:13:23  thread 4712 was not placed: No space left on device
    Nothing restricts it: these are all cpus that its control group lets it use.
    ");
}

/// Whoever asks, and whatever rules it has: the holder of the process is named.
#[test]
fn what_others_keep_is_said() {
    let (state, rules, redis) = (held("redis-server"), resolved(), process("redis-server"));
    let held = state.status.processes.get(&4711);
    let reasons = |held, rule| KeepWhyDocument {
        keeper: Some(mention("root", Some("/etc/corewise/rules.d"))),
        ..reasons(&redis, held, rule, None)
    };
    let first_line = |document: &KeepWhyDocument<'_>| {
        screen::draw_explanation(document, &TimeZone::UTC, 200).to_plain().lines().next().unwrap().to_owned()
    };
    let expected = "redis-server (4711) may run on cpus 0-3 (2 threads) because of rule redis of `corewise keep run` of the system (815)";
    assert_eq!(first_line(&reasons(held, Some(&rules[0]))), format!("{expected}: 1-3, strength boundary."));
    assert_eq!(first_line(&reasons(held, None)), format!("{expected}."), "its rules cannot be read");
    let unknown = KeepWhyDocument { keeper: None, unknown: vec![mention("eve", None)], ..reasons(None, None) };
    let why = screen::draw_explanation(&unknown, &TimeZone::UTC, 200).to_plain();
    assert!(why.contains("`corewise keep run` of eve (815) may hold it: this user cannot read its state."), "{why}");
    let with = |others| {
        let list = screen::draw_list(&KeepDocument { others, ..listed(&rules, None) }, 200).to_plain();
        list.lines().next().unwrap().to_owned()
    };
    let expected =
        "These rules are not in force: `corewise keep run` of the system (815) keeps those in /etc/corewise/rules.d.";
    assert_eq!(with(vec![mention("root", Some("/etc/corewise/rules.d"))]), expected);
    let expected =
        "`corewise keep run` of eve (815) runs, and may keep these rules in force: this user cannot read its state.";
    assert_eq!(with(vec![mention("eve", None)]), expected);
    let proven = [ResolvedRule { changes: Vec::new(), ..rules[0].clone() }];
    let standing = |running| {
        let list = list(&proven, running, 200).to_plain();
        list.lines().last().unwrap().rsplit("  ").next().unwrap().to_owned()
    };
    assert_eq!((standing(None).as_str(), standing(Some(&state)).as_str()), ("not in force", "in force"));
}

#[test]
fn of_many_users_that_wait_some_are_listed() {
    let mut state = crowded("eve");
    let first = state.status.waiting[&4711].clone();
    for id in 0..20 {
        let charged_to = ChargedUser { name: format!("user{id:02}"), is_system: false };
        state.status.waiting.to_mut().insert(id, WaitingProcess { charged_to, ..first.clone() });
    }
    let list = list(&resolved(), Some(&state), 100).to_plain();
    assert_eq!(list.matches("no room for").count(), 5, "{list}");
    assert!(list.contains("The same of 16 more users and rules."), "{list}");
}

#[test]
fn a_plan_says_which_processes_would_have_no_room() {
    let mut large = process("redis-server");
    large.threads =
        (0..5_000).map(|id| ObservedThread { id, cpus: CpuSet::first_cpus(4), ..ObservedThread::default() }).collect();
    let small = ObservedProcess { id: 4712, ..process("redis-server") };
    let (planned, _) = plan_processes(RuleKeeper::new(resolved()), &[large, small]);
    assert_eq!(planned.iter().map(|planned| planned.actions.len()).collect::<Vec<_>>(), [0, 2]);
    assert!(planned[0].notes[0].starts_with("no room for its 5,000 threads"), "{:?}", planned[0].notes);
}

#[test]
fn what_would_be_done() {
    let (planned, unreadable) =
        plan_processes(RuleKeeper::new(resolved()), &[process("redis-server"), process("other")]);
    assert_snapshot!(screen::draw_plan(&planned, &unreadable, 80).to_plain(), @r"
    redis-server (4711)  rule redis
      2 threads to cpus 1-3
    Nothing was changed. Next:  corewise keep run
    ");
    let hidden = ObservedProcess { exe: None, ..process("redis-server") };
    let (planned, unreadable) = super::plan_processes(RuleKeeper::new(resolved()), &[hidden]);
    assert_snapshot!(screen::draw_plan(&planned, &unreadable, 80).to_plain(), @r"
    No process matches a rule in force.
    redis: the file of 1 process cannot be read; `keep run` needs CAP_SYS_PTRACE for
        those of another user
    Nothing was changed. Next:  corewise keep run
    ");
}

/// Why a process is where it is.
fn reasons<'a>(
    process: &'a ObservedProcess,
    held: Option<&'a KeptProcess>,
    rule: Option<&'a ResolvedRule>,
    limited_by: Option<&'static str>,
) -> KeepWhyDocument<'a> {
    let (schema, since_unix_ms) = ("corewise/keep-why/1", Some(1_700_000_000_000));
    let limited_by =
        limited_by.map(|owner| CpusetLimit { owner, group: "/kubepods/pod1".into(), cpus: CpuSet::first_cpus(4) });
    KeepWhyDocument {
        schema,
        process,
        rule,
        held,
        waiting: None,
        keeper: None,
        unknown: Vec::new(),
        since_unix_ms,
        masks: process.thread_masks(),
        limited_by,
        origin: None,
        placed_by: None,
    }
}

#[test]
fn why_a_process_is_where_it_is() {
    let (state, rules, redis) = (held("redis-server"), resolved(), process("redis-server"));
    let screen = |document: &KeepWhyDocument<'_>| screen::draw_explanation(document, &TimeZone::UTC, 80).to_plain();
    let why = |held, rule, owner| screen(&reasons(&redis, held, rule, owner));
    assert_snapshot!(why(state.status.processes.get(&4711), Some(&rules[0]), Some("kubelet")), @r"
    redis-server (4711) may run on cpus 0-3 (2 threads) because of rule redis: 1-3,
      strength boundary.
    Proven: +6.1 % [4.2, 8.0], experiment 12, error rate 5 %, on machine ab12.
    Unproven since: kernel was 7.1, is 7.2.
    2023-11-14 22:13:23  rule redis matches
    Before: all of its control group.
    kubelet lets /kubepods/pod1 use cpus 0-3; corewise stays inside.
    ");
    assert_snapshot!(why(None, Some(&rules[2]), None), @r"
    redis-server (4711) may run on cpus 0-3 (2 threads). Rule far matches, but no
      `corewise keep run` holds it.
    Evidence: none. It was never measured whether this helps; `corewise try --on
      node:3 -- COMMAND` would.
    Nothing restricts it: these are all cpus that its control group lets it use.
    ");
    assert_snapshot!(why(None, None, None), @r"
    redis-server (4711) may run on cpus 0-3 (2 threads). No rule in force matches.
    Nothing restricts it: these are all cpus that its control group lets it use.
    ");
    let origin =
        MaskOrigin { process: (4000, "taskset".into()), parent: Some((1, "systemd".into(), CpuSet::first_cpus(8))) };
    let reasons = reasons(&redis, None, None, None);
    assert_snapshot!(screen(&KeepWhyDocument { origin: Some(origin), ..reasons }), @r"
    redis-server (4711) may run on cpus 0-3 (2 threads). No rule in force matches.
    It inherited its mask from taskset (4000). That mask was set by taskset itself,
      by what started it, or by another program since; its parent, systemd (1), may
      use 0-7.
    ");
}

#[test]
fn threads_that_were_placed_one_by_one_are_listed_by_their_masks() {
    let mut pinned = process("worker");
    let thread = |id: u32, list: &str| ObservedThread {
        id,
        name: format!("w{id}"),
        cpus: CpuSet::parse_list(list).unwrap(),
        ..ObservedThread::default()
    };
    pinned.threads = vec![thread(1, "0-3"), thread(2, "1"), thread(3, "2"), thread(4, "1")];
    let why = screen::draw_explanation(&reasons(&pinned, None, None, None), &TimeZone::UTC, 200).to_plain();
    assert!(why.contains("  cpus 1: w2 (2), w4 (4)") && why.contains("  cpus 0-3: w1 (1)"), "{why}");
    assert!(why.contains("placed one by one") && !why.contains("Nothing restricts it"), "{why}");
}

#[test]
fn what_corewise_placed_is_not_blamed_on_the_program() {
    let redis = process("redis-server");
    let placed_by = Some("corewise run --pid 4711 --on 0-3".to_owned());
    let reasons = KeepWhyDocument { placed_by, ..reasons(&redis, None, None, None) };
    let why = screen::draw_explanation(&reasons, &TimeZone::UTC, 200).to_plain();
    assert!(
        why.contains("Its mask was set by corewise run --pid 4711 --on 0-3; to take it back:  corewise undo"),
        "{why}"
    );
    assert!(!why.contains("Nothing restricts it"), "{why}");
}

#[test]
fn a_limited_process_is_not_called_unrestricted() {
    let redis = process("redis-server");
    let limit = CpusetLimit { owner: "Slurm", group: "/slurm/uid_0/job_42".into(), cpus: redis.reachable.clone() };
    let reasons = KeepWhyDocument { limited_by: Some(limit), ..reasons(&redis, None, None, None) };
    let why = screen::draw_explanation(&reasons, &TimeZone::UTC, 200).to_plain();
    assert!(why.contains("Slurm lets /slurm/uid_0/job_42 use cpus 0-3; corewise stays inside."), "{why}");
    assert!(!why.contains("Nothing restricts it"), "{why}");
}

#[test]
fn no_process_steers_or_hides() {
    let mut crowd = crowded("");
    for (number, name) in hostile::names().into_iter().enumerate() {
        let state = held(&name);
        crowd.status.waiting.to_mut().values_mut().for_each(|waiting| waiting.charged_to.name.clone_from(&name));
        let mut rules = resolved();
        rules[0].problem = Some(name.clone());
        let (planned, unreadable) =
            plan_processes(RuleKeeper::new(resolved()), &[process(&name), process("redis-server")]);
        for width in [40, 80] {
            let other = |rules| KeeperMention { user: name.clone(), ..mention("", rules) };
            let others = vec![other(Some(name.as_str())), other(None)];
            let absent = KeepDocument { place: name.clone(), others: others.clone(), ..listed(&rules, None) };
            hostile::check_screen(&list(&rules, Some(&state), width), width);
            hostile::check_screen(&screen::draw_plan(&planned, &unreadable, width), width);
            hostile::check_screen(&list(&rules, Some(&crowd), width), width);
            if width == 40 && number.is_multiple_of(10) {
                hostile::check_screen(&screen::draw_list(&absent, width), width);
                hostile::check_screen(&list(&rules, Some(&refused(&name)), width), width);
            }
            let held = state.status.processes.get(&4711);
            let process = process(&name);
            let origin =
                MaskOrigin { process: (1, name.clone()), parent: Some((2, name.clone(), CpuSet::first_cpus(2))) };
            let reasons = reasons(&process, held, Some(&rules[0]), Some("x"));
            let (keeper, unknown) =
                if number.is_multiple_of(10) { (others.first().cloned(), others) } else { (None, Vec::new()) };
            let reasons = KeepWhyDocument { keeper, unknown, ..reasons };
            hostile::check_screen(&screen::draw_explanation(&reasons, &TimeZone::UTC, width), width);
            let reasons = KeepWhyDocument { origin: Some(origin), held: None, ..reasons };
            hostile::check_screen(&screen::draw_explanation(&reasons, &TimeZone::UTC, width), width);
        }
        let process = process(&name);
        hostile::check_json(&reasons(&process, None, Some(&rules[0]), None));
    }
}

#[test]
fn a_rule_is_what_was_typed() {
    let typed = |words: &[&str]| {
        let typed = crate::app::run::parse_typed::<KeepArguments>(&[&["keep", "add"], words].concat())?;
        let Some(KeepCommand::Add(typed)) = typed.command else { panic!("add was typed") };
        let settings = ProgramSettings::from_environment(&crate::app::settings::ProgramEnvironment::default());
        build_rule(typed, &settings).map_err(|failure| failure.what)
    };
    let rule = typed(&[
        "redis",
        "--match",
        "exe=*/redis-server",
        "--match",
        "user=redis",
        "--on",
        "1-3",
        "--threads",
        "io_*=3",
    ]);
    let rule = rule.unwrap();
    assert_eq!(rule.matches.to_string(), "exe=*/redis-server user=redis");
    assert_eq!((rule.on.0.to_string(), rule.threads.len(), rule.strength), ("1-3".into(), 1, RuleStrength::Boundary));
    assert!(typed(&["x", "--match", "pid=1", "--on", "1"]).unwrap_err().contains("not by \"pid\""));
    assert!(typed(&["x", "--match", "exe", "--on", "1"]).unwrap_err().contains("expected FIELD=PATTERN"));
    assert!(typed(&["x", "--match", "exe=a"]).unwrap_err().contains("--on"));
    assert!(typed(&["x", "--match", "exe=a", "--on", "llc;1"]).is_err());
}

#[test]
fn units_have_the_program_and_nothing_to_fill_in() {
    for (of_system, words) in [(true, "keep run --system"), (false, "keep run --user")] {
        let unit = unit::write_unit(of_system, &[]).unwrap();
        assert!(unit.contains(words) && !unit.contains("PROGRAM"), "{unit}");
    }
}

#[test]
fn units_allow_reading_files_only_if_a_rule_needs_it() {
    let unit = |of_system, matches: &str| {
        let text = format!("[[rule]]\nname = 'web'\nmatch = {{ {matches} }}\non = '1'\n");
        unit::write_unit(of_system, &parse_rules(&text).unwrap()).unwrap()
    };
    let (by_unit, by_file) = (unit(true, "unit = 'web.service'"), unit(true, "exe = '/usr/bin/web'"));
    for line in ["AmbientCapabilities=CAP_SYS_NICE", "CapabilityBoundingSet=CAP_SYS_NICE"] {
        assert!(by_unit.lines().any(|other| other == line), "{by_unit}");
        assert!(by_file.lines().any(|other| other == format!("{line} CAP_SYS_PTRACE")), "{by_file}");
    }
    assert!(!unit(false, "exe = '/usr/bin/web'").contains("CAP_"));
}

/// A rule from an experiment matches what /proc shows of its program, and never all that an interpreter runs.
#[test]
fn a_program_that_was_tried_is_matched_as_the_system_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let of = |program: &str| build_match(program, folder.path());
    // A copy may be executed like its original, also with another content.
    let shell = corewise_sys::installed::find_program("sh", std::env::var_os("PATH").as_deref()).unwrap();
    let with = |name: &str, begin: &str| {
        let file = folder.path().join(name);
        std::fs::copy(&shell, &file).unwrap();
        std::fs::write(&file, begin).unwrap();
        file.canonicalize().unwrap()
    };
    let own = with("own*", "\x7fELF");
    let exe = of("./own*").unwrap().exe.unwrap();
    assert!(exe.matches_text(own.to_str().unwrap()) && !exe.matches_text(&format!("{}x", own.display())), "{exe:?}");
    with("run.sh", "#!/bin/sh\n");
    let script = of("./run.sh").unwrap();
    assert!(script.exe.is_none() && script.argv.unwrap().matches_text("./run.sh"));
    assert_eq!(of("no-such-program").unwrap().exe, Some(GlobPattern::new("*/no-such-program")));
    for interpreter in ["sh", "/bin/sh", "python3.12", "wine64", "python3.exe", "pwsh.exe"] {
        assert!(of(interpreter).unwrap_err().what.contains("runs many programs"), "{interpreter}");
    }
}
