//! Ranks that share a machine: the part that each gets, as launchers take it; and placements that are proven for a program.

mod support;

use std::process::Output;

use corewise_machine::evidence::PlacementProof;
use support::{TestPlace, text};

fn printed(place: &TestPlace, words: &[&str]) -> String {
    let output = place.corewise(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
    text(&output.stdout).trim_end().to_owned()
}

/// The cpus that this process may use.
fn own_cpus(place: &TestPlace) -> Vec<String> {
    let list = printed(place, &["run", "--on", "all", "--", "nproc"]);
    (0..list.parse().unwrap()).map(|cpu: u32| cpu.to_string()).collect()
}

#[test]
fn launchers_get_the_cpus_of_each_rank() {
    let place = TestPlace::new();
    let ranks = |words: &[&str]| printed(&place, &[&["place", "--machine", "9950x3d"], words].concat());
    assert_eq!(ranks(&["--ranks", "2", "--as", "vllm"]), "VLLM_CPU_OMP_THREADS_BIND=\"0-7,16-23|8-15,24-31\"");
    assert_eq!(ranks(&["one-per-core", "--ranks", "2", "--as", "vllm"]), "VLLM_CPU_OMP_THREADS_BIND=\"0-7|8-15\"");
    assert_eq!(
        ranks(&["--ranks", "2", "--as", "numactl"]),
        "numactl --physcpubind=0-7,16-23 --localalloc\nnumactl --physcpubind=8-15,24-31 --localalloc"
    );
    assert_eq!(ranks(&["--ranks", "2", "--as", "rankfile"]), "rank 0=localhost slot=0-7\nrank 1=localhost slot=8-15");
    assert_eq!(
        ranks(&["vcache", "--ranks", "8", "--as", "omp"]).lines().nth(7).unwrap(),
        "OMP_PROC_BIND=close OMP_PLACES={7},{23}"
    );
    let torchrun = ranks(&["--ranks", "2", "--as", "torchrun"]);
    assert!(
        torchrun.starts_with("torchrun --nproc-per-node 2 --no-python ") && torchrun.contains(" --rank auto "),
        "{torchrun}"
    );
    let remote = printed(&place, &["place", "--machine", "threadripper-2990wx", "--ranks", "4"]);
    assert!(remote.contains("The nodes of ranks 1,3 have no memory: theirs is on other nodes."), "{remote}");
    let shown = ranks(&["--ranks", "2"]);
    assert!(!shown.contains("no memory"), "{shown}");
    assert!(shown.contains("0-7,16-23") && shown.contains("8-15,24-31"), "{shown}");
}

#[test]
fn mistakes_with_ranks_say_what_to_type() {
    let place = TestPlace::new();
    let refused = |words: &[&str]| {
        let Output { status, stderr, .. } = place.corewise(words).output().unwrap();
        (status.code().unwrap(), text(&stderr))
    };
    let (status, why) = refused(&["place", "all", "--as", "vllm"]);
    assert!(status == 2 && why.contains("--ranks N"), "{why}");
    let (status, why) = refused(&["place", "--ranks", "2", "--as", "nginx"]);
    assert!(status == 2 && why.contains("they are vllm, omp, numactl, rankfile, torchrun"), "{why}");
    let (status, why) = refused(&["place", "--machine", "fx-8150", "--ranks", "9"]);
    assert!(status == 3 && why.contains("9 parts of cpus 0-7: each needs one"), "{why}");
    let (status, why) = refused(&["place", "--machine", "fx-8150", "--ranks", "2", "--near", "gpu"]);
    assert!(status != 0 && why.contains("no devices of this machine are known"), "{why}");
    let (status, why) = refused(&["run", "--rank", "2/2", "--", "true"]);
    assert!(status == 2 && why.contains("ranks are counted from 0 to 1"), "{why}");
    let (status, why) = refused(&["run", "--rank", "auto", "--", "true"]);
    assert!(status == 2 && why.contains("LOCAL_RANK and LOCAL_WORLD_SIZE"), "{why}");
}

#[test]
fn each_rank_runs_on_its_own_part() {
    let place = TestPlace::new();
    let ranks = own_cpus(&place).len();
    let mask = "sed -n s/^Cpus_allowed_list:.//p /proc/self/status";
    let run = |rank: &str| printed(&place, &["run", "--rank", rank, "--", "sh", "-c", mask]);
    let mut seen: Vec<String> = (0..ranks).map(|rank| run(&format!("{rank}/{ranks}"))).collect();
    let by_launcher = place
        .corewise(&["run", "--rank", "auto", "--", "sh", "-c", mask])
        .envs([("LOCAL_RANK", (ranks - 1).to_string()), ("LOCAL_WORLD_SIZE", ranks.to_string())])
        .output()
        .unwrap();
    assert_eq!(Some(text(&by_launcher.stdout).trim()), seen.last().map(String::as_str));
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), count, "ranks share a cpu: {seen:?}");
}

/// A script that is faster on one cpu.
#[test]
fn a_winner_is_kept_under_the_name_that_its_program_asks_for() {
    let place = TestPlace::new();
    if own_cpus(&place).len() < 2 {
        return println!("skipped: one cpu alone leaves nothing to prove");
    }
    let script = "if grep -q '^Cpus_allowed_list:.1$' /proc/self/status; then echo score 20.14; else echo score 10.0${#COREWISE_PADDING}; fi";
    let tried = |name: &str, script: &str, more: &[&str]| {
        let options =
            ["try", "--no-confirm", "--metric", "score", "--higher", "--on", "1", "--rest", "0s", "--prove", name];
        place.corewise(&[&options[..], more, &["--", "sh", "-c", script]].concat()).output().unwrap()
    };
    let output = tried("my-server", script, &[]);
    let said = text(&output.stderr);
    let file = place.path().join("corewise/proven/my-server");
    assert!(said.contains(&format!("note: proven for my-server: {}", file.display())), "{said}");
    let proof: PlacementProof = std::fs::read_to_string(&file).unwrap().parse().unwrap();
    assert_eq!((proof.name.as_str(), proof.on.as_str(), proof.experiment), ("my-server", "1", 1));
    let equal = tried("other", "echo score 10.0${#COREWISE_PADDING}", &["--runs-max", "8"]);
    assert!(
        text(&equal.stderr).contains("note: nothing is proven for other: experiment 2 has no winner"),
        "{}",
        text(&equal.stderr)
    );
    assert!(!place.path().join("corewise/proven/other").exists());
    let path = tried("../x", script, &[]);
    assert!(path.status.code() == Some(2) && text(&path.stderr).contains("expected letters"), "{}", text(&path.stderr));
}
