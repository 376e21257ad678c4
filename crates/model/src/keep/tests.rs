//! Rules as they are written and edited, and courses of events played against a simulated system.

mod courses;
mod crowds;
mod properties;
mod system;

use corewise_machine::placement::ResolveContext;
use corewise_machine::{CpuSet, Machine};

use super::*;
use crate::artifact::ArtifactOrigin;

const REDIS: &str = r#"
[[rule]]
name = "redis"
match = { exe = "*/redis-server", user = "redis" }
on = "0-3"
"#;

fn set(list: &str) -> CpuSet {
    CpuSet::parse_list(list).unwrap()
}

/// A machine of eight cpus that all work.
fn machine() -> Machine {
    let all = CpuSet::first_cpus(8);
    Machine { possible: all.clone(), present: all.clone(), online: all.clone(), allowed: all, ..Machine::default() }
}

fn resolved(text: &str) -> Vec<ResolvedRule> {
    let machine = machine();
    resolve_rules(
        &parse_rules(text).unwrap(),
        &ResolveContext { machine: &machine, reachable: &machine.online, quiet: None, worth: None },
    )
}

fn wrong(text: &str) -> String {
    parse_rules(text).unwrap_err().to_string()
}

#[test]
fn all_that_is_given_must_hold() {
    let rule = &parse_rules(REDIS).unwrap()[0];
    let exe = Some("/usr/bin/redis-server".to_owned());
    let process = ObservedProcess { exe, user: "redis".into(), ..ObservedProcess::default() };
    assert_eq!(rule.matches.fit_process(&process), MatchFit::Yes);
    assert_eq!(rule.matches.fit_process(&ObservedProcess { user: "root".into(), ..process.clone() }), MatchFit::No);
    assert_eq!(rule.matches.fit_process(&ObservedProcess { exe: None, ..process.clone() }), MatchFit::Unreadable);
    assert_eq!(
        rule.matches.fit_process(&ObservedProcess { exe: None, user: "root".into(), ..process.clone() }),
        MatchFit::No
    );
    let replaced = ObservedProcess { exe: Some("/usr/bin/redis-server (deleted)".into()), ..process };
    assert_eq!(rule.matches.fit_process(&replaced), MatchFit::Yes, "an update replaced the file");
}

#[test]
fn any_word_may_match_and_each_other_field() {
    let process = ObservedProcess {
        name: "wine64-preloade".into(),
        argv: vec!["wine".into(), "Z:\\game.exe".into()],
        unit: Some("app-steam.scope".into()),
        cgroup: "/user.slice/app-steam.scope".into(),
        parent_name: "steam".into(),
        ..ObservedProcess::default()
    };
    let fit = |field: &str, glob: &str| {
        let mut matches = RuleMatch::default();
        matches.set_field(field, GlobPattern::new(glob)).unwrap();
        matches.fit_process(&process) == MatchFit::Yes
    };
    for (field, yes, no) in [
        ("name", "wine64*", "wine"),
        ("argv", "*game.exe", "*game"),
        ("unit", "app-*.scope", "*.service"),
        ("cgroup", "/user.slice/*", "/system.slice/*"),
        ("parent", "steam", "bash"),
    ] {
        assert!(fit(field, yes) && !fit(field, no), "{field}");
    }
    assert!(RuleMatch::default().set_field("pid", GlobPattern::new("1")).is_err());
}

/// An unprivileged user can mount a file over any path in a namespace, and name control groups below the own service manager.
#[test]
fn what_a_user_chose_matches_no_rule_of_the_system() {
    let manager = "/user.slice/user-7.slice/user@7.service";
    let process = ObservedProcess {
        exe: Some("/usr/bin/redis-server".into()),
        cgroup: format!("{manager}/app.slice/redis.service"),
        ..ObservedProcess::default()
    };
    let fit = |text: &str, process: &ObservedProcess| {
        RuleMatch::of_texts(&[text.to_owned()]).unwrap().fit_process(process) == MatchFit::Yes
    };
    let system = ObservedProcess { is_for_system: true, ..process.clone() };
    for (pattern, in_user, in_system) in [
        ("cgroup=*/redis.service", true, false),
        ("cgroup=/user.slice/*", true, true),
        (&format!("cgroup={manager}"), false, true),
        ("exe=*/redis-server", true, true),
    ] {
        assert_eq!((fit(pattern, &process), fit(pattern, &system)), (in_user, in_system), "{pattern}");
    }
    let covered = ObservedProcess { is_exe_elsewhere: true, ..system.clone() };
    assert!(!fit("exe=*/redis-server", &covered) && fit("cgroup=/user.slice/*", &covered));
    let service = ObservedProcess { cgroup: "/system.slice/redis.service/user@7".into(), ..system };
    assert!(fit("cgroup=*/redis.service/*", &service));
}

#[test]
fn a_pattern_that_fits_no_process_is_explained() {
    let explained =
        |text: &str| RuleMatch::of_texts(&[text.to_owned()]).unwrap().explain_impossible().unwrap_or_default();
    assert!(explained("exe=xz").ends_with("exe=*/xz"));
    assert!(explained("name=a-very-long-program").contains("15 bytes"));
    for possible in [
        "exe=/usr/bin/xz",
        "exe=*/xz",
        "exe=?xz",
        "name=xz",
        "name=a-very-long-*",
        "argv=xz",
        "unit=a-very-long-one.service",
    ] {
        assert_eq!(explained(possible), "", "{possible}");
    }
}

#[test]
fn a_pattern_that_names_nothing_makes_no_rule_trustworthy() {
    let is_trustworthy = |texts: &[&str]| {
        let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
        RuleMatch::of_texts(&texts).unwrap().is_trustworthy()
    };
    assert!(!is_trustworthy(&["name=zzz", "user=*"]) && !is_trustworthy(&["name=zzz", "exe=/*", "cgroup=/*/?*"]));
    assert!(is_trustworthy(&["name=zzz", "user=redis"]) && is_trustworthy(&["user=*", "unit=redis.*"]));
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    assert_eq!(wrong("\n[[rule]]\nname = "), "line 3: string values must be quoted, expected literal string");
    assert!(wrong(&REDIS.replace("user", "uid")).starts_with("line 4: unknown field `uid`"));
    assert!(
        wrong(&REDIS.replace("0-3", "llc;0")).starts_with("line 5: \"llc;0\": "),
        "{}",
        wrong(&REDIS.replace("0-3", "llc;0"))
    );
    assert!(wrong(&REDIS.replace("on =", "at =")).starts_with("line 5: unknown field `at`"));
    assert_eq!(wrong(&format!("{REDIS}{REDIS}")), "line 7: another rule is named \"redis\"");
    let all = REDIS.replace("exe = \"*/redis-server\", user = \"redis\"", "name = \"*\"");
    assert_eq!(wrong(&all), "line 2: rule redis would match every process");
    assert_eq!(
        wrong(&REDIS.replace("\"redis\"\nm", "\"a b\"\nm")),
        "line 2: \"a b\" is no name of a rule: 1 to 64 letters, digits and . _ - @"
    );
    assert!(parse_rules(&format!("{REDIS}strength = \"hard\"")).is_err());
    assert!(parse_rules("").unwrap().is_empty());
}

#[test]
fn a_rule_is_what_it_selects_here() {
    let text = format!(
        "{REDIS}threads = [{{ name = \"io_*\", on = \"2-5\" }}]\n[[rule]]\nname=\"far\"\nmatch={{name=\"x\"}}\non=\"llc:7\""
    );
    let found = resolved(&text);
    assert_eq!((found[0].cpus_of("main"), found[0].cpus_of("io_1")), (&set("0-3"), &set("2-3")));
    assert!(found[0].is_in_force() && found[0].problem.is_none());
    assert!(
        !found[1].is_in_force() && found[1].problem.as_ref().unwrap().starts_with("llc:7: "),
        "{:?}",
        found[1].problem
    );
    let outside = resolved(&text.replace("2-5", "5"));
    assert_eq!(outside[0].problem.as_deref(), Some("no cpu of its threads io_* is among 0-3, those of 0-3"));
    assert_eq!(outside[0].cpus_of("io_1"), &set("0-3"));
}

fn evidence(here: &Machine) -> RuleEvidence {
    RuleEvidence {
        experiment: 12,
        effect: 0.06,
        interval: [0.04, f64::INFINITY],
        error_rate: 0.05,
        so_far: false,
        fingerprint: here.fingerprint(),
        environment: here.environment(),
        origin: ArtifactOrigin::Measured,
    }
}

#[test]
fn evidence_counts_where_nothing_has_changed() {
    let mut here = machine();
    here.system.kernel = Some("7.1".into());
    here.system.scheduling.insert("smt".into(), "on".into());
    let evidence = evidence(&here);
    assert_eq!(evidence.environment.keys().collect::<Vec<_>>(), ["kernel", "smt"]);
    assert_eq!(evidence.changes_since(&here), []);
    here.system.scheduling.clear();
    assert_eq!(evidence.changes_since(&here), [], "what cannot be read any more is not compared");
    here.system.kernel = Some("7.2".into());
    let kernel = EvidenceChange { what: "kernel".into(), was: "7.1".into(), is: "7.2".into() };
    assert_eq!(evidence.changes_since(&here), [kernel]);
    let rule = Rule { evidence: Some(evidence), ..parse_rules(REDIS).unwrap().remove(0) };
    let in_force = |rule| {
        resolve_rules(&[rule], &ResolveContext { machine: &here, reachable: &here.online, quiet: None, worth: None })[0]
            .is_in_force()
    };
    assert!(in_force(rule.clone()));
    assert!(!in_force(Rule { unproven: UnprovenPolicy::Release, ..rule }));
}

#[test]
fn evidence_from_elsewhere_counts_nowhere() {
    let here = machine();
    for origin in elsewhere() {
        let evidence = RuleEvidence { origin, ..evidence(&here) };
        let changes = evidence.changes_since(&here);
        assert_eq!((changes.len(), changes[0].is.as_str()), (1, "not measured here"), "{changes:?}");
        let rule = Rule { evidence: Some(evidence.clone()), ..parse_rules(REDIS).unwrap().remove(0) };
        for (unproven, is_in_force) in [(UnprovenPolicy::Hold, true), (UnprovenPolicy::Release, false)] {
            let context = ResolveContext { machine: &here, reachable: &here.online, quiet: None, worth: None };
            let found = resolve_rules(&[Rule { unproven, ..rule.clone() }], &context).remove(0);
            assert_eq!((found.changes.len(), found.is_in_force()), (1, is_in_force), "{unproven:?}");
        }
        let written = set_evidence(REDIS, "redis", Some(&evidence)).unwrap();
        assert_eq!(parse_rules(&written).unwrap()[0].evidence.as_ref(), Some(&evidence), "{written}");
    }
}

/// Origins that are no evidence, with texts that a file would misread unless they are quoted.
fn elsewhere() -> [ArtifactOrigin; 2] {
    let file = "a \"page\".html\n".to_owned();
    let imported = ArtifactOrigin::Imported { file: file.clone(), format: "a, b".into(), remarks: vec!["] }".into()] };
    [imported, ArtifactOrigin::Simulated { file }]
}

#[test]
fn a_file_keeps_its_comments_when_it_is_edited() {
    let text =
        format!("# mine\n{REDIS}# of the next\n[[rule]]\nname = \"b\"\nmatch = {{ name = \"b\" }}\non = \"1\"\n");
    let without = remove_rule(&text, "redis").unwrap();
    assert_eq!(without, "# mine\n\n# of the next\n[[rule]]\nname = \"b\"\nmatch = { name = \"b\" }\non = \"1\"\n");
    let off = set_disabled(&text, "redis", true).unwrap();
    assert!(parse_rules(&off).unwrap()[0].disabled && !parse_rules(&off).unwrap()[1].disabled, "{off}");
    assert_eq!(set_disabled(&off, "redis", false).unwrap(), text);
    assert_eq!(set_disabled(&off, "redis", true).unwrap(), off);
    let evidence = evidence(&machine());
    let proven = set_evidence(&text, "b", Some(&evidence)).unwrap();
    assert_eq!(parse_rules(&proven).unwrap()[1].evidence.as_ref(), Some(&evidence), "{proven}");
    assert_eq!(set_evidence(&proven, "b", None).unwrap(), text);
    let again = RuleEvidence { experiment: 13, ..evidence };
    assert!(set_evidence(&proven, "b", Some(&again)).unwrap().contains("experiment = 13"));
    assert_eq!(remove_rule(&text, "b").unwrap(), format!("# mine\n{REDIS}"));
    assert_eq!(remove_rule(&text, "c"), Err(EditError::NoSuchRule("c".into())));
    let inline = "rule = [{ name = \"x\", match = { name = \"x\" }, on = \"1\" }]\n";
    assert_eq!(remove_rule(inline, "x"), Err(EditError::ByHand("x".into())));
}

#[test]
fn what_is_added_reads_as_the_same_rule() {
    let mut rule = parse_rules(REDIS).unwrap().remove(0);
    rule.name = "all".into();
    rule.matches.argv = Some(GlobPattern::new("a \"b\" \\ \u{1b}"));
    rule.threads = vec![ThreadRule { name: GlobPattern::new("io_*"), on: rule.on.clone() }];
    rule.memory = Some(WrittenValue("bind:0".parse().unwrap()));
    (rule.strength, rule.widen, rule.unproven, rule.disabled) =
        (RuleStrength::Exact, true, UnprovenPolicy::Release, true);
    rule.evidence = Some(RuleEvidence {
        experiment: 12,
        effect: 0.06,
        interval: [f64::NEG_INFINITY, 1.0],
        error_rate: 0.05,
        so_far: true,
        fingerprint: "ab".into(),
        environment: [("kernel".to_owned(), "7.1 \"x\"".to_owned())].into(),
        origin: ArtifactOrigin::Measured,
    });
    for text in ["", REDIS, "# only this"] {
        let more = add_rule(text, &rule).unwrap();
        assert!(more.starts_with(text) && parse_rules(&more).unwrap().last() == Some(&rule), "{more}");
        assert_eq!(add_rule(&more, &rule), Err(EditError::Exists("all".into())));
    }
}

#[test]
fn lines_end_as_they_did_before_an_edit() {
    let with_returns = |text: &str| text.replace('\n', "\r\n");
    let rule = Rule { name: "b".into(), ..parse_rules(REDIS).unwrap().remove(0) };
    let unix =
        [add_rule(REDIS, &rule), remove_rule(REDIS, "redis"), set_disabled(REDIS, "redis", true)].map(Result::unwrap);
    let text = with_returns(REDIS);
    let windows =
        [add_rule(&text, &rule), remove_rule(&text, "redis"), set_disabled(&text, "redis", true)].map(Result::unwrap);
    assert_eq!(windows, unix.map(|text| with_returns(&text)));
    let mixed = format!("# a\r\n{REDIS}");
    assert_eq!(remove_rule(&mixed, "redis").unwrap(), "# a\r\n\n");
}
