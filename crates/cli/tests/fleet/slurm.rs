//! Surveys by Slurm: nodes that die, partitions that are closed, disks that are full.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::slurm_cluster::SlurmCluster;
use crate::support::{interrupt, is_root, text, wait_for, wait_until_it_catches_interrupts};
use crate::{healthy_nodes, problem_of, shown_nodes};

const ALL: [(&str, usize); 4] = [("n0", 2), ("n1", 2), ("n2", 2), ("n3", 2)];

/// Names of the results in a folder, without drafts.
fn results(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder.join("visits")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    names
}

#[test]
fn every_node_is_visited_twice_and_one_that_dies_is_a_row_until_the_survey_goes_on() {
    let Some(mut cluster) = SlurmCluster::new(&[]) else { return };
    let folder = cluster.path().join("results");
    let mut survey = cluster.fleet(&folder, &["--budget", "4s"]);
    let survey = survey.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The job of n2 has begun to measure.
    wait_for("a visit of n2", || {
        let drafts = fs::read_dir(folder.join("visits")).ok()?;
        let names = drafts.filter_map(Result::ok).map(|entry| entry.file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(".n2.")).any(|name| name.ends_with(".part")).then_some(())
    });
    cluster.kill_node(2);
    let output = survey.wait_with_output().unwrap();
    let nodes = shown_nodes(&output);
    assert_eq!(healthy_nodes(&nodes), [ALL[0], ALL[1], ALL[3]], "{}", text(&output.stderr));
    assert!(["died", "timed-out"].contains(&problem_of(&nodes, "n2").0.as_str()), "{nodes:?}");
    cluster.wait_until_empty();
    let before = results(&folder);
    let times = |names: &[String]| -> Vec<_> {
        names.iter().map(|name| fs::metadata(folder.join("visits").join(name)).unwrap().modified().unwrap()).collect()
    };
    let old = times(&before);
    cluster.revive_node(2);
    let output = cluster.fleet(&folder, &["--budget", "1s"]).output().unwrap();
    let nodes = shown_nodes(&output);
    assert_eq!(healthy_nodes(&nodes), ALL, "{}", text(&output.stderr));
    assert_eq!(times(&before), old, "only what was missing is done again");
    assert_eq!(fs::read_dir(folder.join("problems")).unwrap().count(), 0);
}

#[test]
fn a_partition_that_is_down_or_closed_is_said_in_slurms_words() {
    let Some(cluster) = SlurmCluster::new(&[]) else { return };
    let run = |options: &[&str]| cluster.fleet(&cluster.path().join("results"), options).output().unwrap();
    let off = run(&["-p", "off", "--budget", "1s"]);
    assert_eq!(off.status.code(), Some(3), "no node answered");
    let nodes = shown_nodes(&off);
    assert_eq!(problem_of(&nodes, "n0"), ("not-started".to_owned(), "Slurm: PartitionDown".to_owned()));
    cluster.wait_until_empty();
    let unknown = run(&["-p", "nosuch"]);
    let said = text(&unknown.stderr);
    assert_eq!(unknown.status.code(), Some(3), "{said}");
    assert!(said.contains("no nodes in the partition nosuch; its partitions: main, off, closed"), "{said}");
    if !is_root() {
        return;
    }
    // Root may use every partition.
    let folder = cluster.path().join("theirs");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    let words = ["fleet", "survey", "--slurm", "--json", "--no-store", "-p", "closed", "--budget", "1s", "--to"];
    let to = folder.join("own");
    let words: Vec<&str> = words.into_iter().chain(to.to_str()).collect();
    let mut ordinary = cluster.place.ordinary_user(&words);
    let output = ordinary.env("SLURM_CONF", cluster.path().join("slurm.conf")).output().unwrap();
    let (kind, reason) = problem_of(&shown_nodes(&output), "n3");
    assert_eq!(kind, "not-started");
    assert!(reason.contains("not permitted to use this partition"), "{reason}");
}

#[test]
fn ctrl_c_cancels_the_jobs_and_keeps_what_came() {
    let Some(cluster) = SlurmCluster::new(&[]) else { return };
    let folder = cluster.path().join("results");
    let mut survey = cluster.fleet(&folder, &["--budget", "2s", "--at-once", "1"]);
    let survey = survey.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until_it_catches_interrupts(&survey);
    wait_for("the first result", || (folder.join("visits").exists() && !results(&folder).is_empty()).then_some(()));
    interrupt(&survey);
    let output = survey.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("the same command goes on with what is missing"));
    let visits: usize = shown_nodes(&output).iter().map(|(_, visits, _)| visits).sum();
    assert!((1..8).contains(&visits) && visits <= results(&folder).len(), "{visits} of {:?}", results(&folder));
    cluster.wait_until_empty();
}

/// A process whose mount namespace has a small disk; ends with this value.
struct SmallDisk(Child);

impl SmallDisk {
    fn new(folder: &Path, size: &str) -> Self {
        let script =
            format!("mount -t tmpfs -o size={size} none {0} && touch {0}/mounted && exec sleep 600", folder.display());
        Self(Command::new("unshare").args(["-m", "sh", "-c", &script]).spawn().unwrap())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_full_disk_ends_the_survey_and_loses_nothing() {
    if !is_root() {
        return println!("skipped: only root mounts a small disk");
    }
    let disk = tempfile::tempdir().unwrap();
    let holder = SmallDisk::new(disk.path(), "16k");
    let process = holder.0.id().to_string();
    let seen = Path::new("/proc").join(&process).join("root").join(disk.path().strip_prefix("/").unwrap());
    wait_for("the small disk", || seen.join("mounted").exists().then_some(()));
    let inside = ["nsenter", "-m", "-t", &process];
    let Some(cluster) = SlurmCluster::new(&inside) else { return };
    let folder = disk.path().join("results");
    let full = cluster.fleet(&folder, &["--budget", "1s"]).output().unwrap();
    let said = text(&full.stderr);
    assert_eq!(full.status.code(), Some(3), "{said}");
    assert!(said.contains("No space left on device") && said.contains("What came before is kept"), "{said}");
    let kept = results(&seen.join("results"));
    assert!(!kept.is_empty() && kept.len() < 8, "{kept:?}");
    cluster.wait_until_empty();
    let mut grow = Command::new("nsenter");
    grow.args(["-m", "-t", &process, "mount", "-o", "remount,size=1m"]).arg(disk.path());
    assert!(grow.status().unwrap().success());
    let output = cluster.fleet(&folder, &["--budget", "1s"]).output().unwrap();
    assert_eq!(healthy_nodes(&shown_nodes(&output)), ALL, "{}", text(&output.stderr));
}
