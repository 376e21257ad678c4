//! One experiment over several hosts: it is the same when the command goes on, and another command does not go on with it.

use std::fs;
use std::process::Output;

use crate::is_missing;
use crate::ssh::start_with_corewise;
use crate::support::{TestPlace, text};

/// Returns the JSON that a command printed, and its messages.
fn printed(output: &Output) -> (serde_json::Value, String) {
    let said = text(&output.stderr);
    let shown = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    (shown, said)
}

/// The placement makes the command wait, so it is far worse on every host, whatever else runs.
#[test]
fn a_placement_is_judged_over_hosts_and_the_same_command_goes_on_with_what_is_missing() {
    if is_missing(&["sshd", "ssh", "ssh-keygen"]) {
        return;
    }
    let place = TestPlace::new();
    let daemon = start_with_corewise(&place.path().join("with"));
    let (config, hosts, to) = (place.path().join("config"), place.path().join("hosts"), place.path().join("results"));
    let gone = "Host gone\n HostName 127.0.0.1\n Port 1\n";
    fs::write(&config, daemon.settings("node*") + gone).unwrap();
    fs::write(&hosts, "node[0-5]\ngone\n").unwrap();
    let [config, hosts, to] = [&config, &hosts, &to].map(|path| path.to_str().unwrap());
    let words = ["fleet", "try", "--hosts", hosts, "-F", config, "--to", to, "--json", "--seed", "1"];
    let command = ["--rest=0s", "--on", "0", "--", "sh", "-c", "sleep 0.0$(grep -c . /proc/$$/status | cut -c1)"];
    // An attempt in which no node gave a result is no experiment: the command is corrected, and the list of hosts.
    fs::write(hosts, "gone\n").unwrap();
    let failed = place.corewise(&[&words[..], &["--on", "0", "--", "tru"]].concat()).output().unwrap();
    assert_eq!(failed.status.code(), Some(3), "{}", text(&failed.stderr));
    assert!(text(&failed.stderr).contains("trying on 1 node, all that there are (-N 16)"), "{}", text(&failed.stderr));
    fs::write(hosts, "node[0-5]\ngone\n").unwrap();
    let run = || place.corewise(&[&words[..], &command].concat()).output().unwrap();
    let (first, said) = printed(&run());
    let nodes = first["conclusions"]["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 7, "{said}");
    let counted: u64 = nodes.iter().filter(|node| node["blocks"].as_u64().unwrap() >= 4).count() as u64;
    assert_eq!(counted, 6, "{first}");
    let refused = nodes.iter().find(|node| node["name"] == "gone").unwrap();
    assert!(refused["problem"].as_str().unwrap().contains("Connection refused"), "{refused}");
    assert_eq!(first["conclusions"]["this_kind"]["units"], 6);
    assert_eq!(first["observed"]["arms"][1]["name"], "0");
    assert_eq!(
        first["observed"]["made_by"],
        serde_json::json!(["--hosts", hosts, "--ssh-config", config, "--on", "0", "--rest", "0s"])
    );
    // Nothing is measured anew.
    let before = fs::read_dir(format!("{to}/visits")).unwrap().count();
    let (again, _) = printed(&run());
    assert_eq!(again["observed"]["nodes"], first["observed"]["nodes"]);
    assert_eq!(again["conclusions"], first["conclusions"]);
    assert_eq!(fs::read_dir(format!("{to}/visits")).unwrap().count(), before);
    assert_eq!((&first["stored"], &again["stored"]), (&1.into(), &1.into()), "no second copy");
    // A lost result is made again, and only that.
    let lost = fs::read_dir(format!("{to}/visits")).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(&lost).unwrap();
    run();
    assert!(lost.exists());
    let other = place.corewise(&[&words[..], &["--on", "0", "--", "true"]].concat()).output().unwrap();
    assert_eq!(other.status.code(), Some(2));
    assert!(text(&other.stderr).contains("is of another experiment"), "{}", text(&other.stderr));
}
