//! A Slurm cluster on this machine's loopback: munged, slurmctld and a slurmd for each node, without systemd. They end with this value.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};

use crate::is_missing;
use crate::support::{TestPlace, text, wait_for};

const NODES: usize = 4;
/// Programs of Slurm and munge.
const PROGRAMS: [&str; 5] = ["munged", "slurmctld", "slurmd", "sbatch", "squeue"];

pub struct SlurmCluster {
    pub place: TestPlace,
    /// Words before the programs that see the results, which may lie in a mount namespace of the test's own.
    inside: Vec<String>,
    port: u16,
    munged: Option<Child>,
    controller: Option<Child>,
    nodes: Vec<Option<Child>>,
}

impl SlurmCluster {
    /// Starts a cluster whose nodes are idle; `None` if Slurm is not installed.
    pub fn new(inside: &[&str]) -> Option<Self> {
        if is_missing(&PROGRAMS) {
            return None;
        }
        static USED: AtomicU16 = AtomicU16::new(0);
        // Below the kernel's own range for other programs.
        let port = 10_000 + (std::process::id() % 220) as u16 * 100 + USED.fetch_add(10, Ordering::Relaxed) % 100;
        let inside = inside.iter().map(|word| (*word).to_owned()).collect();
        let mut cluster =
            Self { place: TestPlace::new(), inside, port, munged: None, controller: None, nodes: Vec::new() };
        cluster.start_daemons();
        Some(cluster)
    }

    pub fn path(&self) -> &Path {
        self.place.path()
    }

    fn start_daemons(&mut self) {
        let munge = |name: &str| format!("--{name}={}/munge.{name}", self.path().display());
        fs::write(self.path().join("munge.key-file"), [7; 128]).unwrap();
        fs::set_permissions(self.path().join("munge.key-file"), fs::Permissions::from_mode(0o600)).unwrap();
        let files = ["key-file", "socket", "pid-file", "log-file", "seed-file"].map(munge);
        let mut munged = self.daemon("munged", &[]);
        munged.args(["--foreground", "--num-threads=2"]).args(files);
        self.munged = Some(munged.spawn().unwrap());
        let socket = self.path().join("munge.socket");
        wait_for("munged's socket", || socket.exists().then_some(()));
        fs::write(self.configuration(), self.write_configuration()).unwrap();
        fs::create_dir(self.path().join("state")).unwrap();
        self.write_prolog();
        let configuration = self.configuration();
        let mut controller = self.daemon("slurmctld", &[]);
        controller.args(["-D", "-c", "-f"]).arg(configuration);
        self.controller = Some(controller.spawn().unwrap());
        self.nodes = (0..NODES).map(|number| Some(self.start_slurmd(number))).collect();
        self.wait_until_idle();
    }

    fn configuration(&self) -> PathBuf {
        self.path().join("slurm.conf")
    }

    /// Every node is this machine: each needs a lock of measurements of its own.
    fn write_prolog(&self) {
        let prolog = self.path().join("prolog");
        let line =
            format!("#!/bin/sh\necho \"export COREWISE_LOCK={}/lock.$SLURMD_NODENAME\"\n", self.path().display());
        // By another process: a file that is open for writing here cannot be executed.
        let script = format!("cat > {0} <<'END'\n{line}END\nchmod 755 {0}", prolog.display());
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
    }

    fn write_configuration(&self) -> String {
        let hosts = Command::new("hostname").arg("-s").output().unwrap();
        let user = text(&Command::new("id").arg("-un").output().unwrap().stdout);
        let cpus = std::thread::available_parallelism().unwrap();
        let (dir, host, user, port) = (self.path().display(), text(&hosts.stdout), user.trim(), self.port);
        let host = host.trim();
        format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={port}\nSlurmUser={user}\nSlurmdUser={user}\n\
             AuthType=auth/munge\nAuthInfo=socket={dir}/munge.socket\nCredType=cred/munge\n\
             CommunicationParameters=NoInAddrAny,NoCtldInAddrAny\nStateSaveLocation={dir}/state\n\
             SlurmctldPidFile={dir}/slurmctld.pid\nSlurmctldLogFile={dir}/slurmctld.log\nSlurmdPidFile={dir}/slurmd.%n.pid\n\
             SlurmdLogFile={dir}/slurmd.%n.log\nSlurmdSpoolDir={dir}/spool.%n\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/affinity\nMpiDefault=none\nSwitchType=switch/none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_Core\nSlurmdParameters=config_overrides\n\
             SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0,defer_batch_disabled\n\
             SlurmdTimeout=3\nSlurmctldTimeout=10\nInactiveLimit=0\nKillWait=2\nMinJobAge=300\nReturnToService=2\n\
             AccountingStorageType=accounting_storage/none\nJobAcctGatherType=jobacct_gather/none\nJobCompType=jobcomp/none\n\
             MailProg=/bin/true\nTaskProlog={dir}/prolog\n\
             NodeName=n[0-{last}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{end}] CPUs={cpus} Sockets=1 \
             CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory=500\n\
             PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO\n\
             PartitionName=off Nodes=n0 MaxTime=INFINITE State=DOWN\n\
             PartitionName=closed Nodes=ALL AllowGroups=nobody_here MaxTime=INFINITE State=UP\n",
            last = NODES - 1,
            first = port + 1,
            end = port + NODES as u16,
        )
    }

    /// A program that runs in the foreground, with its output in a file of the place.
    fn daemon(&self, program: &str, inside: &[String]) -> Command {
        let output = fs::File::create(self.path().join(format!("{program}.out"))).unwrap();
        let mut words = inside.iter().cloned().chain([program.to_owned()]);
        let mut command = Command::new(words.next().unwrap());
        command.args(words).stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
        command.env("PATH", format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default()));
        command
    }

    fn start_slurmd(&self, number: usize) -> Child {
        fs::create_dir_all(self.path().join(format!("spool.n{number}"))).unwrap();
        let mut slurmd = self.daemon("slurmd", &self.inside);
        slurmd.args(["-D", "-N", &format!("n{number}"), "-f"]).arg(self.configuration()).spawn().unwrap()
    }

    /// Runs a command of Slurm and returns its output.
    pub fn slurm(&self, program: &str, arguments: &[&str]) -> String {
        let output = Command::new(program).args(arguments).env("SLURM_CONF", self.configuration()).output().unwrap();
        text(&output.stdout).trim().to_owned()
    }

    pub fn wait_until_idle(&self) {
        wait_for("idle nodes", || {
            (self.slurm("sinfo", &["-h", "-p", "main", "-o", "%T %D"]) == format!("idle {NODES}")).then_some(())
        });
    }

    /// Waits until no job is left.
    pub fn wait_until_empty(&self) {
        wait_for("an empty queue", || self.slurm("squeue", &["-h"]).is_empty().then_some(()));
    }

    /// `corewise fleet` with this cluster, its results in the folder `to`.
    pub fn fleet(&self, to: &Path, options: &[&str]) -> Command {
        let to = to.to_str().unwrap();
        let words = [&["fleet", "survey", "--slurm", "--json", "--no-store", "--to", to][..], options].concat();
        let own = self.place.corewise(&words);
        let mut command = match self.inside.split_first() {
            None => own,
            Some((program, rest)) => {
                let mut command = Command::new(program);
                command.args(rest).arg(own.get_program()).args(own.get_args());
                own.get_envs().for_each(|(name, value)| match value {
                    Some(value) => drop(command.env(name, value)),
                    None => drop(command.env_remove(name)),
                });
                command
            }
        };
        command.env("SLURM_CONF", self.configuration()).env_remove("COREWISE_LOCK");
        command
    }

    /// Ends a node as a loss of power does: its daemon, its jobs and what they run.
    pub fn kill_node(&mut self, number: usize) {
        let mut daemon = self.nodes[number].take().unwrap();
        daemon.kill().unwrap();
        daemon.wait().unwrap();
        let (name, spool) = (format!("SLURMD_NODENAME=n{number}"), self.path().join(format!("spool.n{number}")));
        let conf = format!("SLURM_CONF={}", self.configuration().display());
        for process in numbers_of_processes() {
            let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
            let words: Vec<&[u8]> = environment.split(|byte| *byte == 0).collect();
            let is_job = words.contains(&name.as_bytes()) && words.contains(&conf.as_bytes());
            if is_job || holds_open(process, &spool) {
                let _ = Command::new("kill").args(["-KILL", &process.to_string()]).output();
            }
        }
    }

    /// Starts an ended node again; returns when it takes jobs.
    pub fn revive_node(&mut self, number: usize) {
        self.nodes[number] = Some(self.start_slurmd(number));
        let name = format!("nodename=n{number}");
        wait_for("the node to come back", || {
            self.slurm("scontrol", &["update", &name, "state=resume"]);
            (self.slurm("sinfo", &["-h", "-n", &format!("n{number}"), "-p", "main", "-o", "%T"]) == "idle")
                .then_some(())
        });
    }
}

impl Drop for SlurmCluster {
    fn drop(&mut self) {
        for number in 0..self.nodes.len() {
            if self.nodes[number].is_some() {
                self.kill_node(number);
            }
        }
        for mut daemon in self.controller.take().into_iter().chain(self.munged.take()) {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn numbers_of_processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Returns true if a process has a file below a folder open, as a daemon of a job's steps has.
fn holds_open(process: u32, folder: &Path) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    let mut targets = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
    targets.any(|target| target.starts_with(folder))
}
