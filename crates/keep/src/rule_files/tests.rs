use corewise_machine::CpuSet;
use corewise_model::keep::{remove_rule, set_disabled};
use tempfile::TempDir;

use super::*;

/// Knows one quiet cpu, and nothing else.
struct QuietCpu(u32);

impl MachineKnowledge for QuietCpu {
    fn quiet_cpus(&self, _: &Machine) -> Option<CpuSet> {
        Some(CpuSet::from_cpu(self.0))
    }
}

fn rule_text(name: &str, on: &str) -> String {
    format!("[[rule]]\nname = \"{name}\"\nmatch = {{ exe = \"/usr/bin/{name}\" }}\non = \"{on}\"\n")
}

fn rule(name: &str) -> Rule {
    keep::parse_rules(&rule_text(name, "0")).unwrap().remove(0)
}

fn write(file: &Path, text: &str) {
    output::make_folder(file.parent().unwrap()).unwrap();
    output::replace_file(file, text.as_bytes()).unwrap();
}

/// A folder of rules with files of these names and texts.
fn folder_of(texts: &[(&str, String)], of_system: bool) -> (TempDir, RuleFiles) {
    let folder = tempfile::tempdir().unwrap();
    texts.iter().for_each(|(name, text)| write(&folder.path().join(name), text));
    let place = folder.path().to_owned();
    (folder, RuleFiles { place, of_system })
}

fn names(files: &RuleFiles) -> Vec<String> {
    files.read_rules().unwrap().into_iter().map(|rule| rule.name).collect()
}

fn hint(error: &RuleFilesError) -> String {
    error.suggest_hint(|command| format!("<{}>", command.shell_line())).unwrap_or_default()
}

#[test]
fn rules_are_found_where_they_were_named_or_are_usual() {
    let find = |named: Option<&str>, of_system, user: Option<&str>| {
        RuleFiles::find_files(named.map(Path::new), of_system, user.map(Path::new)).map(|files| files.place)
    };
    assert_eq!(find(Some("mine"), true, None).unwrap(), Path::new("mine"));
    assert_eq!(find(None, false, Some("settings")).unwrap(), Path::new("settings").join(USER_FILE));
    assert!(matches!(find(None, false, None), Err(RuleFilesError::NoUserFolder)));
    match files::system_settings() {
        Some(settings) => assert_eq!(find(None, true, None).unwrap(), settings.join(SYSTEM_FOLDER)),
        None => assert!(matches!(find(None, true, None), Err(RuleFilesError::NoSystemFolder))),
    }
}

#[test]
fn a_folder_is_read_in_the_order_of_names() {
    let texts = [("b.toml", rule_text("second", "0")), ("a.toml", rule_text("first", "0")), ("c.txt", "no".to_owned())];
    let (folder, files) = folder_of(&texts, false);
    assert_eq!(names(&files), ["first", "second"]);
    assert_eq!(files.read_rule("second").unwrap(), rule("second"));
    let missing = files.read_rule("third").unwrap_err();
    assert!(missing.is_usage() && hint(&missing).starts_with('<'), "{missing}");
    let absent = RuleFiles { place: folder.path().join("absent.toml"), of_system: false };
    assert_eq!(absent.read_rules().unwrap(), []);
}

#[test]
fn broken_and_repeated_rules_are_refused() {
    let (folder, files) = folder_of(&[("a.toml", rule_text("web", "0")), ("b.toml", rule_text("web", "1"))], false);
    let repeated = files.read_rules().unwrap_err();
    let file = folder.path().join("b.toml");
    assert_eq!(repeated.to_string(), format!("{}: another file has a rule web too", file.display()));
    assert_eq!(hint(&repeated), "Give one of them another name.");
    write(&file, "[[rule]]\nname = 1\n");
    assert!(matches!(files.read_rules(), Err(RuleFilesError::Invalid { .. })));
}

#[test]
fn a_rule_of_the_system_matches_by_more_than_names() {
    let text = "[[rule]]\nname = \"web\"\nmatch = { name = \"web\" }\non = \"0\"\n";
    let (_folder, of_user) = folder_of(&[("a.toml", text.to_owned())], false);
    assert_eq!(names(&of_user), ["web"]);
    let of_system = RuleFiles { of_system: true, ..of_user };
    assert!(matches!(of_system.read_rules(), Err(RuleFilesError::Untrustworthy { .. })));
    let everybody = text.replace("name = \"web\" }", "name = \"web\", user = \"*\" }");
    let (_folder, of_everybody) = folder_of(&[("a.toml", everybody)], true);
    assert!(matches!(of_everybody.read_rules(), Err(RuleFilesError::Untrustworthy { .. })));
    let own = keep::parse_rules(text).unwrap().remove(0);
    let empty = tempfile::tempdir().unwrap();
    let files = RuleFiles { place: empty.path().join("rules.d"), of_system: true };
    assert!(matches!(files.add_rule(&own), Err(RuleFilesError::Untrustworthy { .. })));
    assert_eq!(files.read_rules().unwrap(), [], "nothing is written that would not be read");
}

#[test]
fn the_first_rule_of_the_system_makes_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let files = RuleFiles { place: folder.path().join("corewise/rules.d"), of_system: true };
    assert_eq!(files.add_rule(&rule("web")).unwrap(), files.place.join(WRITTEN_FILE));
    assert_eq!(files.read_rules().unwrap(), [rule("web")]);
}

#[test]
fn a_rule_is_added_once_and_edited_in_its_own_file() {
    let (folder, files) = folder_of(&[("a.toml", rule_text("a", "0")), ("b.toml", rule_text("b", "0"))], false);
    let exists = files.add_rule(&rule("b")).unwrap_err();
    assert!(exists.is_usage() && hint(&exists).starts_with("Remove it with <"), "{exists}");
    assert_eq!(files.edit_rule("b", |text| set_disabled(text, "b", true)).unwrap(), folder.path().join("b.toml"));
    assert!(files.read_rule("b").unwrap().disabled && !files.read_rule("a").unwrap().disabled);
    assert_eq!(files.edit_rule("a", |text| remove_rule(text, "a")).unwrap(), folder.path().join("a.toml"));
    assert_eq!(names(&files), ["b"]);
    assert!(files.edit_rule("a", |text| remove_rule(text, "a")).unwrap_err().is_usage());
    let wrong = files.add_rule(&Rule { name: "no name".to_owned(), ..rule("c") }).unwrap_err();
    assert!(matches!(wrong, RuleFilesError::WrongRule(_)), "{wrong}");
}

#[test]
fn rules_that_are_added_at_the_same_time_are_all_there() {
    let (_folder, files) = folder_of(&[("a.toml", rule_text("first", "0"))], false);
    let place = files.place.join("a.toml");
    let files = RuleFiles { place, of_system: false };
    let begun = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (files, begun) = (&files, &begun);
            scope.spawn(move || {
                begun.wait();
                files.add_rule(&rule(&format!("r{number}"))).unwrap();
                files.edit_rule("first", |text| set_disabled(text, "first", number % 2 == 0)).unwrap();
            });
        }
    });
    assert_eq!(files.read_rules().unwrap().len(), 9);
}

/// Rules place processes by what earlier surveys found, and are not bounded by the mask that this process inherited.
#[test]
fn rules_are_resolved_with_stored_knowledge_on_all_online_cpus() {
    let online: CpuSet = (0..4).collect();
    let machine = Machine {
        possible: online.clone(),
        present: online.clone(),
        allowed: CpuSet::from_cpu(0),
        online,
        ..Machine::default()
    };
    let rules = [rule_text("quiet", "quiet"), rule_text("number", "2-3"), rule_text("group", "group:0")].concat();
    let resolved = resolve_on(&machine, &keep::parse_rules(&rules).unwrap(), &QuietCpu(3));
    let cpus: Vec<String> = resolved.iter().map(|rule| rule.cpus.to_string()).collect();
    assert_eq!(cpus[..2], ["3", "2,3"]);
    let problem = resolved[2].problem.as_deref().unwrap_or_default();
    assert!(problem.contains("no link map of this machine"), "{problem}");
}

#[test]
fn threads_of_rules_ask_for_knowledge_too() {
    let online: CpuSet = (0..4).collect();
    let machine = Machine { possible: online.clone(), present: online.clone(), online, ..Machine::default() };
    let text = format!("{}threads = [{{ name = \"io*\", on = \"quiet\" }}]\n", rule_text("web", "0-3"));
    let resolved = resolve_on(&machine, &keep::parse_rules(&text).unwrap(), &QuietCpu(2));
    assert_eq!(resolved[0].cpus_of("io-1").to_string(), "2");
}

#[test]
fn changed_added_and_removed_files_are_noticed() {
    let (folder, files) = folder_of(&[("a.toml", rule_text("a", "0"))], false);
    let mut reader = RuleReader::new(files);
    let file = |name: &str| folder.path().join(name);
    let mut noticed = |change: &dyn Fn()| {
        reader.read_resolved(&QuietCpu(0)).map(drop).unwrap_or_default();
        assert!(!reader.have_changed());
        change();
        reader.have_changed()
    };
    assert!(!noticed(&|| ()));
    assert!(noticed(&|| write(&file("a.toml"), &rule_text("a", "0,1"))));
    assert!(noticed(&|| write(&file("b.toml"), &rule_text("b", "0"))));
    assert!(noticed(&|| input::remove_stale(&file("b.toml")).unwrap()));
    assert!(!noticed(&|| write(&file("c.txt"), "no rules")));
    assert!(noticed(&|| write(&file("a.toml"), "broken")));
}

/// The handle that the text is read from decides, not the path.
#[cfg(unix)]
#[test]
fn rules_that_others_can_write_do_not_count() {
    use std::os::unix::fs::PermissionsExt as _;
    let (folder, files) = folder_of(&[("a.toml", rule_text("a", "0"))], false);
    let file = folder.path().join("a.toml");
    let mode = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o666);
    let shared = files.read_rules().unwrap_err();
    assert!(matches!(shared, RuleFilesError::Shared { .. }), "{shared}");
    assert!(hint(&shared).starts_with("Make file and folder yours alone: "));
    assert!(matches!(files.add_rule(&rule("b")), Err(RuleFilesError::Shared { .. })));
    assert!(matches!(files.edit_rule("a", |text| remove_rule(text, "a")), Err(RuleFilesError::Shared { .. })));
    mode(0o600);
    assert_eq!(names(&files), ["a"]);
}
