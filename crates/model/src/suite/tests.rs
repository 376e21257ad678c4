use super::*;

const SMALL: &str = r#"
name = "small"
[install]
debian = "apt install"
arch = "pacman -S"
[[benchmark]]
name = "seven"
category = "encoding"
command = ["7z", "b"]
metric = { name = "rating", pattern = "Tot: ([0-9]+)", higher = true }
packages = { debian = "7zip", arch = "7zip" }
[[benchmark]]
name = "compile"
category = "development"
command = ["sh", "-c", "gcc -c a.c"]
needs = ["gcc"]
packages = { debian = "gcc make" }
"#;

#[test]
fn a_suite_says_what_is_run_and_what_of_it_counts() {
    let suite = BenchmarkSuite::parse(SMALL).unwrap();
    let [seven, compile] = &suite.benchmarks[..] else { panic!("{suite:?}") };
    assert_eq!((seven.needed_programs(), compile.needed_programs()), (vec!["7z".to_owned()], vec!["gcc".to_owned()]));
    assert!(seven.deciding_metric().higher_is_better && compile.deciding_metric() == TrialMetric::wall_time());
}

#[test]
fn benchmarks_share_the_variants_of_a_suite_or_have_texts_of_their_own() {
    let own = "variants = [\"old=./a\", \"new=./b\"]\nneeds";
    let shared = |command: &str| {
        let text = SMALL.replacen("[install]", "variants = [\"old=A=1\", \"new=A=2\"]\n[install]", 1);
        BenchmarkSuite::parse(&text.replacen("needs", own, 1).replacen("gcc -c a.c", command, 1))
    };
    let suite = shared("{variant}").unwrap();
    let texts = |at: usize| {
        suite.benchmarks[at].variants.iter().map(|variant| variant.typed_text()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!([texts(0), texts(1)], ["old=A=1 new=A=2", "old=./a new=./b"]);
    assert!(shared("gcc").unwrap_err().to_string().contains("the command has no {variant}, and \"./a\""));
    let with = |from: &str, to: &str| BenchmarkSuite::parse(&SMALL.replacen(from, to, 1)).map_err(|e| e.to_string());
    let other = with("needs", own).unwrap_err();
    assert!(other.starts_with("benchmark \"compile\": its variants are old, new, those of the first"), "{other}");
    let one = with("[install]", "variants = [\"a=A=1\"]\n[install]").unwrap_err();
    assert!(one.contains("variants: there is only one variant"), "{one}");
    let program = "command = [\"./{variant}\", \"b\"]\nvariants = [\"old\", \"new\"]";
    let text = SMALL.replacen("command = [\"7z\", \"b\"]", program, 1).replacen(
        "needs",
        "variants = [\"old=\", \"new=\"]\nneeds",
        1,
    );
    assert_eq!(BenchmarkSuite::parse(&text).unwrap().benchmarks[0].needed_programs(), ["./old", "./new"]);
    let whole = text.replacen("\"./{variant}\", \"b\"", "\"{variant}\"", 1);
    assert!(BenchmarkSuite::parse(&whole).unwrap_err().to_string().contains("[\"sh\", \"-c\", \"{variant}\"]"));
}

#[test]
fn a_metric_file_lies_where_the_benchmark_is_run() {
    let with = |entry: &str| BenchmarkSuite::parse(&SMALL.replacen("needs", &format!("{entry}\nneeds"), 1));
    let metric = "metric = { name = \"fps\" }\nmetric_file = ";
    let suite = with(&format!("{metric}\"out/results.json\"")).unwrap();
    assert_eq!(suite.benchmarks[1].metric_file.as_deref(), Some("out/results.json"));
    for wrong in
        ["metric_file = \"a\"".to_owned(), format!("{metric}\"/etc/passwd\""), format!("{metric}\"a/../../b\"")]
    {
        let error = with(&wrong).unwrap_err().to_string();
        assert!(error.contains("metric_file needs"), "{wrong}: {error}");
    }
    let unclear = with("metric = { name = \"result\" }").unwrap_err().to_string();
    assert!(unclear.ends_with("needs higher = true or higher = false"), "{unclear}");
}

#[test]
fn packages_are_named_once_and_what_is_not_known_is_said() {
    let suite = BenchmarkSuite::parse(SMALL).unwrap();
    let all: Vec<&SuiteBenchmark> = suite.benchmarks.iter().collect();
    let command = |distribution: &str, benchmarks: &[&SuiteBenchmark]| {
        suite.find_installation(distribution, benchmarks).map(|found| (found.command, found.unknown))
    };
    let all_known = |command: &str| Some((command.to_owned(), Vec::new()));
    assert_eq!(command("debian", &all), all_known("apt install 7zip gcc make"));
    assert_eq!(command("debian", &[all[0], all[0]]), all_known("apt install 7zip"));
    assert_eq!(command("debian", &[]), None);
    assert_eq!(command("arch", &all), Some(("pacman -S 7zip".to_owned(), vec!["gcc".to_owned()])));
    assert!(command("arch", &all[1..]).is_none() && command("fedora", &all).is_none());
}

#[test]
fn what_cannot_be_run_is_refused_with_its_place() {
    let wrong = |from: &str, to: &str| BenchmarkSuite::parse(&SMALL.replacen(from, to, 1)).unwrap_err().to_string();
    assert_eq!(wrong(r#"["7z", "b"]"#, "[]"), "benchmark \"seven\": command must name a program");
    assert_eq!(wrong("\"compile\"", "\"seven\""), "benchmark \"seven\": another benchmark has the same name");
    assert!(wrong("Tot: (", "Tot: ((").starts_with("benchmark \"seven\": the pattern of rating: "));
    assert!(wrong("category", "kind").starts_with("line 8: unknown field `kind`"), "{}", wrong("category", "kind"));
    assert_eq!(BenchmarkSuite::parse("name = \"none\"\nbenchmark = []").unwrap_err(), SuiteError::Empty);
    assert!(wrong("needs", "timeout_s = 0\nneeds").ends_with("timeout_s must be above zero"));
    assert!(wrong("needs", "timeout_s = 1e20\nneeds").ends_with("timeout_s must be at most 31536000 (a year)"));
}

#[test]
fn nothing_but_the_installing_of_packages_can_be_pasted() {
    let with = |from: &str, to: &str| BenchmarkSuite::parse(&SMALL.replacen(from, to, 1));
    for packages in ["7zip; id", "$(id)", "a`id`", "-o=x", "7zip-", "|sh", "~/x", "--", r"x\u0007y", "\u{202e}a"] {
        let error = with("debian = \"7zip\"", &format!("debian = \"{packages}\"")).unwrap_err().to_string();
        assert!(error.ends_with("is not the name of a package"), "{packages}: {error}");
    }
    for command in ["rm -rf", "apt remove", "apt install; id", "curl x | sh", r"apt\ninstall", "apt install evil", ""] {
        let error = with("apt install", command).unwrap_err();
        assert!(matches!(error, SuiteError::Install { .. }), "{command}: {error}");
    }
    assert!(matches!(with("arch = \"pacman", "\"a\\nid\" = \"pacman"), Err(SuiteError::Install { .. })));
    for command in ["sudo apt-get install -y", "doas apk add", "emerge"] {
        assert!(with("apt install", command).is_ok(), "{command}");
    }
    assert!(with("debian = \"7zip\"", "debian = \"g++ libc6:amd64 app-arch/zstd\"").is_ok());
}

#[test]
fn the_suite_that_the_program_holds_is_one() {
    let suite = BenchmarkSuite::parse(BUILT_IN[0].1).unwrap();
    assert!(suite.benchmarks.len() >= 10);
    let all: Vec<&SuiteBenchmark> = suite.benchmarks.iter().collect();
    assert!(suite.find_installation("debian", &all).is_some_and(|found| found.unknown.is_empty()));
}
