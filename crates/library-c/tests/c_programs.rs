//! The header and the examples as a C and a C++ compiler take them, and as they run.
#![cfg(target_os = "linux")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-pedantic", "-Werror"];

fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the built libraries: that of this test program, or the one above.
fn library_folder() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let folders = this.ancestors().skip(1).take(2).map(Path::to_owned);
    let has_library = |folder: &PathBuf| folder.join("libcorewise_c.so").is_file();
    folders.into_iter().find(has_library).expect("the shared library is built with its tests")
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{command:?}: {stdout}{stderr}");
    stdout
}

/// Compiles an example and returns what it says if it is started by a command.
fn run_example(name: &str, options: &[&str], is_static: bool, starter: &[&str]) -> String {
    let (folder, libraries) = (tempfile::tempdir().unwrap(), library_folder());
    let program = folder.path().join(name);
    let mut compiler = Command::new("cc");
    compiler.args(STRICT).args(["-std=c11", "-I"]).arg(home().join("include"));
    compiler.arg(home().join("examples").join(name).with_extension("c")).args(options).arg("-o").arg(&program);
    match is_static {
        true => compiler.arg(libraries.join("libcorewise_c.a")).args(["-lpthread", "-ldl", "-lm", "-lgcc_s"]),
        false => compiler.arg("-L").arg(&libraries).args(["-lcorewise_c", "-lpthread"]),
    };
    run(&mut compiler);
    let words: Vec<&OsStr> = starter.iter().map(OsStr::new).chain([program.as_os_str()]).collect();
    run(Command::new(words[0])
        .args(&words[1..])
        .env("LD_LIBRARY_PATH", &libraries)
        .env_remove("COREWISE")
        .env_remove("COREWISE_PLACE"))
}

#[test]
fn the_header_compiles_without_a_warning_as_c_and_as_cpp() {
    let folder = tempfile::tempdir().unwrap();
    for (compiler, standard, end) in [("cc", "-std=c99", "c"), ("c++", "-std=c++11", "cpp")] {
        if !is_installed(compiler) {
            println!("skipped: no {compiler}");
            continue;
        }
        let file = folder.path().join("only").with_extension(end);
        fs::write(&file, "#include <corewise.h>\nint main(void) { return (int)corewise_parallelism(7); }\n").unwrap();
        run(Command::new(compiler)
            .args(STRICT)
            .args([standard, "-fsyntax-only", "-I"])
            .arg(home().join("include"))
            .arg(file));
    }
}

#[test]
fn a_program_with_threads_places_them_by_the_shared_and_the_static_library() {
    if !is_installed("cc") {
        return println!("skipped: no cc");
    }
    for is_static in [false, true] {
        let said = run_example("pthread", &[], is_static, &[]);
        let (placed, of) = said.trim_end().strip_suffix(" workers placed").unwrap().split_once(" of ").unwrap();
        assert!(placed == of && placed != "0", "{said}");
    }
}

/// Without values that were never written: optimised code of Rust branches on those of a variant that it discards.
#[test]
fn no_memory_is_read_out_of_bounds_or_lost() {
    if !is_installed("cc") || !is_installed("valgrind") {
        return println!("skipped: no cc or no valgrind");
    }
    let starter = ["valgrind", "--quiet", "--error-exitcode=9", "--undef-value-errors=no", "--leak-check=full"];
    let said = run_example("pthread", &[], false, &starter);
    assert!(said.ends_with(" workers placed\n"), "{said}");
}

#[test]
fn a_program_of_openmp_places_its_pool() {
    if !is_installed("cc") {
        return println!("skipped: no cc");
    }
    let said = run_example("openmp", &["-fopenmp"], false, &[]);
    assert!(said.ends_with("the sum is 14.392727\n"), "{said}");
}

/// Returns the words of a C declaration or a Rust signature that follow `corewise_` before a parenthesis, in order.
fn function_names(text: &str) -> Vec<String> {
    let calls = text.split("corewise_").skip(1).filter_map(|rest| {
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')?;
        rest[end..].starts_with('(').then(|| format!("corewise_{}", &rest[..end]))
    });
    calls.collect()
}

/// Parameters of each exported function, and of each declared one: the numbers must agree.
#[test]
fn the_header_declares_what_the_library_exports() {
    let source = syn::parse_file(&fs::read_to_string(home().join("src/lib.rs")).unwrap()).unwrap();
    let exported: Vec<(String, usize)> = source
        .items
        .iter()
        .filter_map(|item| match item {
            syn::Item::Fn(item) if item.sig.abi.is_some() => Some((item.sig.ident.to_string(), item.sig.inputs.len())),
            _ => None,
        })
        .collect();
    let header = fs::read_to_string(home().join("include/corewise.h")).unwrap();
    let code: String = header.split("*/").filter_map(|part| part.split("/*").next()).collect();
    let parameters = |name: &str| {
        let list = code.split(&format!("{name}(")).nth(1).and_then(|rest| rest.split(')').next()).unwrap_or("");
        list.split(',').count()
    };
    let declared: Vec<(String, usize)> =
        function_names(&code).into_iter().map(|name| (name.clone(), parameters(&name))).collect();
    assert_eq!(declared, exported);
    assert_eq!(declared.len(), 8);
}

#[test]
fn python_places_its_threads_by_the_same_library() {
    if !is_installed("python3") {
        return println!("skipped: no python3");
    }
    let module = home().join("../../packaging/python");
    let said = run(Command::new("python3")
        .arg(home().join("tests/placing.py"))
        .env("PYTHONPATH", module)
        .env("COREWISE_LIBRARY", library_folder().join("libcorewise_c.so"))
        .env_remove("COREWISE")
        .env_remove("COREWISE_PLACE"));
    assert_eq!(said, "placed\n");
}
