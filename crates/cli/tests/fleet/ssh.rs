//! Surveys over ssh: hosts that hang, refuse, have no corewise or another version.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::process::{Command, Stdio};

use crate::ssh_daemon::SshDaemon;
use crate::support::{TestPlace, text};
use crate::{healthy_nodes, is_missing, problem_of, shown_nodes};

/// Starts a daemon whose hosts have corewise. All are this machine: each visit needs a lock of measurements of its own.
pub fn start_with_corewise(folder: &std::path::Path) -> SshDaemon {
    let daemon = SshDaemon::start(folder, &programs_of(folder));
    let lines = format!("COREWISE_LOCK={}/lock.$$ exec {} \"$@\"", folder.display(), env!("CARGO_BIN_EXE_corewise"));
    write_program(&folder.join("bin/corewise"), &lines);
    daemon
}

/// Returns the search path of a host's programs.
fn programs_of(folder: &std::path::Path) -> String {
    format!("{}/bin:/usr/bin:/bin", folder.display())
}

/// Writes a program by another process: a file that is open for writing here cannot be executed.
fn write_program(path: &std::path::Path, lines: &str) {
    let script = format!(
        "mkdir -p {1} && cat > {0} <<'END'\n#!/bin/sh\n{lines}\nEND\nchmod 755 {0}",
        path.display(),
        path.parent().unwrap().display()
    );
    assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
}

#[test]
fn hosts_that_hang_refuse_or_lack_corewise_are_rows_and_the_others_are_visited() {
    if is_missing(&["sshd", "ssh", "ssh-keygen"]) {
        return;
    }
    let place = TestPlace::new();
    let (with, old, bare) = (place.path().join("with"), place.path().join("old"), place.path().join("bare"));
    let good = start_with_corewise(&with);
    let [old_daemon, bare_daemon] = [&old, &bare].map(|folder| SshDaemon::start(folder, &programs_of(folder)));
    write_program(&old.join("bin/corewise"), "echo corewise 0.0.1");
    // It accepts connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let local = |name: &str, port: u16| format!("Host {name}\n HostName 127.0.0.1\n Port {port}\n");
    let settings = [
        good.settings("node*"),
        old_daemon.settings("old"),
        bare_daemon.settings("bare"),
        local("silent", silent.local_addr().unwrap().port()),
        local("gone", 1),
    ];
    let (config, hosts) = (place.path().join("config"), place.path().join("hosts.txt"));
    fs::write(&config, settings.concat()).unwrap();
    fs::write(&hosts, "node[1-3] rack=A # the first rack\nold\nbare\nsilent\ngone\nno.such.host.invalid\n").unwrap();
    let [config, hosts] = [&config, &hosts].map(|file| file.to_str().unwrap());
    let words = ["fleet", "survey", "--hosts", hosts, "-F", config, "--json", "--budget", "1s", "--no-store"];
    let survey = |more: &[&str]| place.corewise(&[&words[..], more].concat()).output().unwrap();
    let output = survey(&["--ssh-option", "ConnectTimeout=2"]);
    let nodes = shown_nodes(&output);
    assert_eq!(healthy_nodes(&nodes), [("node1", 2), ("node2", 2), ("node3", 2)], "{}", text(&output.stderr));
    let problem = |name: &str| problem_of(&nodes, name);
    let of = |kind: &str, reason: &str| (kind.to_owned(), reason.to_owned());
    assert_eq!(problem("bare"), of("not-installed", "no corewise there: --copy brings it"));
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        problem("old"),
        of("other-version", &format!("corewise 0.0.1 is there, not {version}: --copy brings it"))
    );
    assert_eq!(problem("silent").0, "timed-out", "{nodes:?}");
    assert_eq!(problem("gone"), of("not-started", "ssh: connect to host 127.0.0.1 port 1: Connection refused"));
    assert!(problem("no.such.host.invalid").1.contains("Could not resolve hostname"), "{nodes:?}");
    assert_eq!(nodes.len(), 8);
    // This build needs the libraries of its system, unless it is a release.
    let copied = survey(&["--copy", "--ssh-option", "ConnectTimeout=2"]);
    if copied.status.code() == Some(3) {
        assert!(text(&copied.stderr).contains("cannot be copied: it needs libraries of this system"));
    } else {
        let nodes = shown_nodes(&copied);
        assert!(
            healthy_nodes(&nodes).contains(&("bare", 2)) && healthy_nodes(&nodes).contains(&("old", 2)),
            "{nodes:?}"
        );
    }
}

#[test]
fn a_folder_keeps_the_visits_of_hosts_that_are_no_longer_listed_and_says_so() {
    if is_missing(&["sshd", "ssh", "ssh-keygen"]) {
        return;
    }
    let place = TestPlace::new();
    let daemon = start_with_corewise(&place.path().join("with"));
    let (config, to) = (place.path().join("config"), place.path().join("results"));
    fs::write(&config, daemon.settings("node*")).unwrap();
    let [config, to] = [&config, &to].map(|path| path.to_str().unwrap());
    // The list comes from standard input.
    let survey = |hosts: &str, budget: &str| {
        let words =
            ["fleet", "survey", "--hosts", "-", "-F", config, "--to", to, "--json", "--no-store", "--budget", budget];
        let mut child = place.corewise(&words);
        let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(hosts.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let first = survey("node1\n", "1s");
    assert_eq!(healthy_nodes(&shown_nodes(&first)), [("node1", 2)], "{}", text(&first.stderr));
    assert!(!text(&first.stderr).contains("note: "), "{}", text(&first.stderr));
    let second = survey("node2\n", "2s");
    let said = text(&second.stderr);
    assert_eq!(healthy_nodes(&shown_nodes(&second)), [("node1", 2), ("node2", 2)], "{said}");
    assert!(said.contains("note: visits so far took 1.0 s each, new ones take 2.0 s"), "{said}");
    assert!(said.contains("not listed any more, counted with earlier visits only: node1"), "{said}");
}
