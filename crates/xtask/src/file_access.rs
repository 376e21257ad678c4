//! Access to files: only `sys` opens, makes, lists and removes files. Other crates use `sys::input`, `sys::output` and the places of
//! files, which check owners, limits and links on open handles. In `sys` itself only the modules of [`MAKERS`] make, change or remove files.
//! Nothing is read to its end, from whatever source, without a limit.
//!
//! A path of `std::fs` is found by any name under which it was imported or re-exported. Tests may open files freely.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::walls::{CrateModules, LONGEST_CHAIN, ModuleUses, PathSegments, read_crates};

/// The crates that may open files: `sys`, and crates that are not shipped.
const WITH_FILES: [&str; 4] = ["sys", "compare", "rig", "xtask"];
/// Modules of `sys` that make, change or remove files, with the files.
const MAKERS: [(&str, &str); 6] = [
    ("crate::cgroup::control_group", "control groups"),
    ("crate::irq::mover", "affinities of interrupts"),
    ("crate::linux::events::ftrace", "instances in tracefs"),
    ("crate::linux::files", "folders of this user alone"),
    ("crate::windows::files", "folders of this user alone"),
    ("crate::windows::folder_handle", "files by a handle of their folder"),
];
/// Modules of `sys` whose readers count their bytes themselves.
const COUNTING_READERS: [&str; 1] = ["crate::input"];
/// Functions that only read.
const READS: [&str; 4] = ["read", "read_dir", "read_link", "read_to_string"];
/// Functions that query a file without opening it.
const QUESTIONS: [&str; 4] = ["canonicalize", "exists", "metadata", "symlink_metadata"];
/// Types that open or make files.
const OPENERS: [&str; 2] = ["OpenOptions", "DirBuilder"];
/// Methods of paths that open their target.
const METHODS: [&str; 2] = ["read_dir", "read_link"];

/// Checks every shipped crate; returns false if one opens files beside `sys::input` and `sys::output`, after printing it.
pub fn check_file_access() -> Result<bool> {
    let mut is_clean = true;
    for (name, house) in &read_crates()? {
        let faults = match name.as_str() {
            "sys" => [find_file_makers(house, &MAKERS), find_unlimited_reads(house)].concat(),
            name if WITH_FILES.contains(&name) => Vec::new(),
            _ => [find_file_access(house), find_unlimited_reads(house)].concat(),
        };
        faults.iter().for_each(|fault| println!("{name}: {fault}"));
        is_clean &= faults.is_empty();
    }
    Ok(is_clean)
}

/// Returns a sentence for each place of `sys` that makes, changes or removes files and is not in the list, and for each in the list that
/// does not.
fn find_file_makers(house: &CrateModules, known: &[(&str, &str)]) -> Vec<String> {
    let makes =
        |at: &PathSegments, path: &PathSegments| leave_crate(house, at, path).is_some_and(|path| is_making(&path));
    let making = house.iter().filter(|(at, module)| module.paths.iter().any(|path| makes(at, path)));
    let making: BTreeSet<String> = making.map(|(at, _)| at.join("::")).collect();
    let known: BTreeSet<String> = known.iter().map(|(at, _)| (*at).to_owned()).collect();
    let new = making.difference(&known).map(|at| format!("{at} makes, changes or removes files and is not in MAKERS"));
    new.chain(known.difference(&making).map(|at| format!("{at} is in MAKERS and makes no file"))).collect()
}

/// Returns a sentence for each module that reads something to its end without a limit.
fn find_unlimited_reads(house: &CrateModules) -> Vec<String> {
    let unlimited = |(at, module): (&PathSegments, &ModuleUses)| {
        let at = at.join("::");
        let fault = |method: &String| format!("{at} reads without a limit: {method} needs take(LIMIT) before it");
        let is_counting = COUNTING_READERS.contains(&at.as_str());
        module.unlimited_reads.iter().filter(|_| !is_counting).map(fault).collect::<Vec<_>>()
    };
    house.iter().flat_map(unlimited).collect()
}

/// Returns a sentence for each place at which a crate opens files beside `sys::input` and `sys::output`.
fn find_file_access(house: &CrateModules) -> Vec<String> {
    let mut faults = BTreeSet::new();
    for (at, module) in house {
        let place = at.join("::");
        let fault = |what: &str| format!("{place} opens files beside sys::input and sys::output: {what}");
        let paths = module.paths.iter().filter_map(|path| leave_crate(house, at, path));
        faults.extend(paths.filter(|path| is_access(path)).map(|path| fault(&path.join("::"))));
        faults
            .extend(module.globs.iter().filter(|glob| is_of_files(glob)).map(|glob| fault(&(glob.join("::") + "::*"))));
        faults.extend(METHODS.iter().filter(|name| module.methods.contains(**name)).map(|name| fault(name)));
    }
    faults.into_iter().collect()
}

/// Resolves a path through imports and re-exports to one outside of the crate; `None` if it stays inside.
pub fn leave_crate(house: &CrateModules, at: &PathSegments, written: &[String]) -> Option<PathSegments> {
    let mut path = written.to_vec();
    let mut module: &ModuleUses = &house[at];
    let mut name_at = 0;
    for _ in 0..LONGEST_CHAIN {
        if path.first().is_some_and(|first| first == "crate") {
            name_at = (1..=path.len()).rev().find(|depth| house.contains_key(&path[..*depth]))?;
            module = &house[&path[..name_at]];
        }
        let name = path.get(name_at)?;
        match module.names.get(name) {
            Some(known) if *known != path => {
                path = [known, &path[name_at + 1..]].concat();
                name_at = 0;
            }
            _ if module.defined.contains(name) || path[0] == "crate" => return None,
            _ => return Some(path),
        }
    }
    None
}

fn is_of_files(path: &[String]) -> bool {
    matches!(path, [first] if first == "std") || matches!(path, [first, second, ..] if first == "std" && second == "fs")
}

/// Returns true if a path of `std::fs` opens, makes, changes or removes a file.
fn is_access(path: &[String]) -> bool {
    let [_, _, name, rest @ ..] = path else { return false };
    let is_function = name.starts_with(char::is_lowercase) && name != "self";
    is_of_files(path)
        && (OPENERS.contains(&name.as_str())
            || is_function && !QUESTIONS.contains(&name.as_str())
            || name == "File" && !rest.is_empty())
}

/// Returns true if a path of `std::fs` makes, changes or removes a file, or can open one to be written to.
fn is_making(path: &[String]) -> bool {
    let [_, _, name, rest @ ..] = path else { return false };
    let is_made = rest.first().is_some_and(|how| how.starts_with("create") || how == "options");
    is_access(path) && !READS.contains(&name.as_str()) && (name != "File" || is_made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walls::house_of;

    fn found(text: &str) -> Vec<String> {
        let faults = find_file_access(&house_of(&[("crate", text)]));
        let what = |fault: String| fault.rsplit_once("output: ").map(|(_, what)| what.to_owned());
        faults.into_iter().filter_map(what).collect()
    }

    #[test]
    fn files_opened_by_any_name_are_found() {
        for (text, expected) in [
            ("fn a() { std::fs::read(\"x\"); }", "std::fs::read"),
            ("use std::fs; fn a() { fs::read_to_string(\"x\"); }", "std::fs::read_to_string"),
            ("use std::fs::{self, File}; fn a() { File::open(\"x\"); }", "std::fs::File::open"),
            ("use std::fs::File as Other; fn a() { Other::create_new(\"x\"); }", "std::fs::File::create_new"),
            ("use std::fs as disk; fn a() { disk::write(\"x\", b\"\"); }", "std::fs::write"),
            ("use std::fs::read as get; fn a() { get(\"x\"); }", "std::fs::read"),
            ("use std::fs; use fs::copy; fn a() { copy(\"x\", \"y\"); }", "std::fs::copy"),
            ("use std::fs::OpenOptions;", "std::fs::OpenOptions"),
            ("use std::fs; fn a() { fs::OpenOptions::new().read(true).open(\"x\"); }", "std::fs::OpenOptions::new"),
            ("use std::fs; fn a() { let all = vec![fs::remove_file(\"x\")]; }", "std::fs::remove_file"),
            ("use std::fs; fn a() { list.iter().map(fs::read_dir); }", "std::fs::read_dir"),
            ("use std::fs::*;", "std::fs::*"),
            ("fn a(path: &Path) { path.read_dir(); }", "read_dir"),
            ("use std::{fs::File, io}; fn a() -> io::Result<File> { File::create(\"x\") }", "std::fs::File::create"),
        ] {
            assert_eq!(found(text), [expected], "{text}");
        }
    }

    #[test]
    fn a_re_export_does_not_hide_it() {
        let modules = [
            ("crate", "mod a; mod b;"),
            ("crate::a", "pub use std::fs as disk;"),
            ("crate::b", "use super::a::disk; fn b() { disk::read(\"x\"); crate::a::disk::copy(\"x\", \"y\"); }"),
        ];
        let faults = find_file_access(&house_of(&modules));
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(faults.iter().all(|fault| fault.starts_with("crate::b opens files")), "{faults:?}");
    }

    #[test]
    fn a_module_of_sys_that_makes_files_has_to_be_listed() {
        let modules = [
            ("crate", "mod reader; mod maker; mod other;"),
            (
                "crate::reader",
                "use std::fs::{self, File}; fn a() { fs::read(\"x\"); File::open(\"x\"); fs::metadata(\"x\"); }",
            ),
            ("crate::maker", "use std::fs::OpenOptions; fn a() { OpenOptions::new().write(true).open(\"x\"); }"),
            ("crate::other", "use std::fs::File; fn a() { File::create(\"x\"); }"),
        ];
        let faults = find_file_makers(&house_of(&modules), &[("crate::maker", ""), ("crate::reader", "")]);
        assert_eq!(
            faults,
            [
                "crate::other makes, changes or removes files and is not in MAKERS",
                "crate::reader is in MAKERS and makes no file",
            ]
        );
    }

    #[test]
    fn what_is_read_to_its_end_is_limited_first() {
        let count = |text: &str| find_unlimited_reads(&house_of(&[("crate", text)])).len();
        for text in [
            "fn a(mut r: impl Read) { r.read_to_end(&mut v); }",
            "fn a() { let _ = io::stdin().lock().read_to_string(&mut text)?; }",
            "fn a() { child.stdout.take().unwrap().read_to_string(&mut text); }",
            "fn a() { reader(file.take(5)).read_until(b' ', &mut line); }",
        ] {
            assert_eq!(count(text), 1, "{text}");
        }
        for text in [
            "fn a(r: impl Read) { r.take(5).read_to_end(&mut v); }",
            "fn a() { file.by_ref().take(MOST + 1).read_line(&mut text)?; }",
            "#[cfg(test)] mod tests { fn a(mut r: impl Read) { r.read_to_end(&mut v); } }",
        ] {
            assert_eq!(count(text), 0, "{text}");
        }
    }

    #[test]
    fn questions_types_tests_and_the_doors_themselves_are_left_alone() {
        for text in [
            "use std::fs::File; struct A(File); fn a(file: &File) { file.metadata(); }",
            "use std::fs; fn a() { fs::canonicalize(\"x\"); fs::metadata(\"x\"); }",
            "use corewise_sys::input::Input as File; fn a() { File::open(\"x\"); }",
            "mod fs { pub fn read() {} } fn a() { fs::read(); }",
            "#[cfg(test)] mod tests { fn a() { std::fs::read(\"x\"); } }",
            "#[cfg(all(test, unix))] mod tests { fn a() { std::fs::read(\"x\"); } }",
        ] {
            assert!(found(text).is_empty(), "{text}: {:?}", found(text));
        }
    }
}
