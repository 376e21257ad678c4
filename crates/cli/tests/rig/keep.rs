//! Scenarios: rules stay in force while cpus, cpusets, groups, other programs and the clock do what they want, and everything is given back.

use corewise_rig::RigGuest;
use corewise_rig::cpus;
use libtest_mimic::{Completion, Failed};

use crate::expressions::reachable;
use crate::found::{same, text};
use crate::placement::HAS_TWO;
use crate::{ONCE, Scenario, ScenarioOutcome};

pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "a_rule_waits_for_its_cpu", each_change: ONCE, applies: HAS_TWO, run: offline },
    Scenario { name: "a_rule_follows_a_cpuset", each_change: ONCE, applies: HAS_TWO, run: cpuset },
    Scenario { name: "a_rule_follows_a_process_to_other_groups", each_change: ONCE, applies: HAS_TWO, run: groups },
    Scenario { name: "a_rule_ends_a_war_of_two_daemons", each_change: ONCE, applies: HAS_TWO, run: war },
    Scenario {
        name: "a_rule_is_about_no_other_process_of_the_same_number",
        each_change: ONCE,
        applies: HAS_TWO,
        run: reused,
    },
    Scenario { name: "a_rule_holds_where_events_are_refused", each_change: ONCE, applies: HAS_TWO, run: refused },
    Scenario { name: "a_rule_holds_three_hundred_threads", each_change: ONCE, applies: HAS_TWO, run: threads },
    Scenario { name: "a_rule_holds_when_the_clock_jumps", each_change: ONCE, applies: HAS_TWO, run: clock },
    Scenario {
        name: "a_rule_changes_nothing_that_cannot_be_journalled",
        each_change: ONCE,
        applies: HAS_TWO,
        run: full,
    },
    Scenario { name: "a_rule_needs_one_capability", each_change: ONCE, applies: HAS_TWO, run: capability },
];

/// Where the loop's files are.
const PLACE: &str = "/tmp/keep";
/// What rules match: a word that only processes of these scenarios have.
const WORD: &str = "77777";

/// The loop, running in the machine with one rule.
struct GuestLoop<'a> {
    guest: &'a mut RigGuest,
    /// The cpus that processes have by themselves.
    all: String,
    first: u32,
    last: u32,
}

/// How the loop is started.
struct LoopStart {
    /// What stands before its command.
    before: &'static str,
    /// Whose it is.
    user: &'static str,
    /// About whose processes it is.
    scope: &'static str,
    /// What processes match.
    matches: &'static str,
    /// What else the rule says.
    options: &'static str,
}

/// As root, for root's own processes.
const OWN: LoopStart =
    LoopStart { before: "", user: "root", scope: "--user", matches: "--match argv=77777", options: "" };

impl<'a> GuestLoop<'a> {
    /// Starts it with a rule whose placement is made of the first and the last cpu.
    fn new(guest: &'a mut RigGuest, on: impl Fn(u32, u32) -> String, way: &LoopStart) -> Result<Self, Failed> {
        let all = reachable(guest.machine());
        let (Some(&first), Some(&last)) = (all.first(), all.last()) else { return Err("there are no two cpus".into()) };
        let LoopStart { before, user, scope, matches, options } = way;
        let on = on(first, last);
        text(
            guest,
            &format!(
                "mkdir -p {PLACE}/journals; chmod 700 {PLACE} {PLACE}/journals
                cat >{PLACE}/keep <<'END'\nexec {before} corewise --journal {PLACE}/journals keep {scope} --rules {PLACE}/rules.toml \"$@\"\nEND
                echo 'exec {before} corewise --journal {PLACE}/journals undo' >{PLACE}/undo
                chown -R {user} {PLACE}; sh {PLACE}/keep add nap {matches} --on {on} {options} >/dev/null"
            ),
        )?;
        let mut keep = Self { guest, all: cpus::format_list(&all), first, last };
        keep.start()?;
        Ok(keep)
    }

    /// Starts the loop once it has been prepared, and waits until it holds what there is.
    fn start(&mut self) -> Result<(), Failed> {
        let start = format!("sh {PLACE}/keep run >{PLACE}/log 2>&1 & echo $! >{PLACE}/pid");
        text(self.guest, &start)?;
        self.wait_for_log("processes are seen")
    }

    fn wait_for_log(&mut self, words: &str) -> Result<(), Failed> {
        self.guest.wait_for(words, &format!("grep -q '{words}' {PLACE}/log || {{ cat {PLACE}/log; false; }}"))?;
        Ok(())
    }

    /// A process that the rule matches. It looks at its file each second: the kernel gives a process that sleeps no other cpus.
    fn nap(&mut self) -> Result<u32, Failed> {
        let number = text(self.guest, &format!("tail -n {WORD} -f /dev/null >/dev/null 2>&1 & echo $!"))?;
        Ok(number.trim().parse()?)
    }

    /// What a process may run on, as the kernel lists it.
    fn mask(&mut self, process: u32) -> Result<String, Failed> {
        Ok(text(self.guest, &mask_of(process))?.trim().to_owned())
    }

    fn wait_for_mask(&mut self, process: u32, cpus: &str) -> Result<(), Failed> {
        let script = format!("mask=$({}); echo $mask; [ \"$mask\" = {cpus} ]", mask_of(process));
        let found = self.guest.wait_for(&format!("cpus {cpus}"), &script);
        found.map(drop).map_err(|error| {
            let log = self.guest.run(&format!("cat {PLACE}/log")).map(|told| told.stdout_text()).unwrap_or_default();
            format!("{error}\n{log}").into()
        })
    }

    /// Ends it; what it logged. Nothing is left to undo then.
    fn stop(self) -> Result<String, Failed> {
        let log = text(
            self.guest,
            &format!(
                "kill -TERM $(cat {PLACE}/pid); while kill -0 $(cat {PLACE}/pid) 2>/dev/null; do :; done; cat {PLACE}/log"
            ),
        )?;
        let undo = text(self.guest, &format!("sh {PLACE}/undo"))?;
        same(&undo, undo.contains("Nothing to undo"), true)?;
        Ok(log)
    }
}

/// Whatever a scenario left.
fn clear(guest: &mut RigGuest) -> Result<(), Failed> {
    let kill = format!(
        "for one in /proc/[0-9]*; do grep -qa -e {WORD} -e 66666 -e {PLACE} $one/cmdline 2>/dev/null && kill -9 ${{one#/proc/}}; done"
    );
    text(guest, &format!("{kill}; rm -rf {PLACE}"))?;
    Ok(())
}

fn mask_of(process: u32) -> String {
    format!("sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/{process}/status")
}

/// The whole course of most scenarios: a process is held, something happens, and what it had is given back.
fn held(
    guest: &mut RigGuest,
    on: impl Fn(u32, u32) -> String + Copy,
    happens: impl FnOnce(&mut GuestLoop<'_>, u32) -> Result<(), Failed>,
) -> ScenarioOutcome {
    let mut keep = GuestLoop::new(guest, on, &OWN)?;
    let nap = keep.nap()?;
    let held = on(keep.first, keep.last);
    keep.wait_for_mask(nap, &held)?;
    happens(&mut keep, nap)?;
    let all = keep.all.clone();
    keep.stop()?;
    same("what it had", text(guest, &mask_of(nap))?.trim(), all.as_str())?;
    clear(guest)?;
    Ok(Completion::Completed)
}

fn offline(guest: &mut RigGuest) -> ScenarioOutcome {
    held(
        guest,
        |_, last| last.to_string(),
        |keep, nap| {
            let last = keep.last;
            let switch = |keep: &mut GuestLoop<'_>, on| {
                text(keep.guest, &format!("echo {on} >/sys/devices/system/cpu/cpu{last}/online"))
            };
            switch(keep, 0)?;
            keep.wait_for_log("are online now")?;
            keep.guest.wait_for("other cpus", &format!("[ \"$({})\" != {last} ]", mask_of(nap)))?;
            switch(keep, 1)?;
            keep.wait_for_mask(nap, &last.to_string())
        },
    )
}

/// The process is in a group whose cpus another program takes away and gives back.
fn cpuset(guest: &mut RigGuest) -> ScenarioOutcome {
    held(
        guest,
        |first, last| format!("{first},{last}"),
        |keep, nap| {
            let group = "/sys/fs/cgroup/narrow";
            let (first, last, all) = (keep.first, keep.last, keep.all.clone());
            text(
                keep.guest,
                &format!("mkdir {group}; echo {all} >{group}/cpuset.cpus; echo {nap} >{group}/cgroup.procs"),
            )?;
            text(keep.guest, &format!("echo {first} >{group}/cpuset.cpus"))?;
            keep.wait_for_mask(nap, &first.to_string())?;
            text(keep.guest, &format!("echo {all} >{group}/cpuset.cpus"))?;
            keep.wait_for_mask(nap, &format!("{first},{last}"))?;
            text(keep.guest, &format!("echo {nap} >/sys/fs/cgroup/cgroup.procs; rmdir {group}"))?;
            Ok(())
        },
    )
}

/// In the other group no cpu of the rule is left; the kernel decides there.
fn groups(guest: &mut RigGuest) -> ScenarioOutcome {
    held(
        guest,
        |_, last| last.to_string(),
        |keep, nap| {
            let group = "/sys/fs/cgroup/other";
            let (first, last) = (keep.first.to_string(), keep.last.to_string());
            text(
                keep.guest,
                &format!("mkdir {group}; echo {first} >{group}/cpuset.cpus; echo {nap} >{group}/cgroup.procs"),
            )?;
            keep.wait_for_mask(nap, &first)?;
            // Back again before anybody looked, it would be as if somebody had given it all cpus.
            keep.wait_for_log("can be had")?;
            text(keep.guest, &format!("echo {nap} >/sys/fs/cgroup/cgroup.procs; rmdir {group}"))?;
            keep.wait_for_mask(nap, &last)
        },
    )
}

/// The other daemon sets the mask whenever it is not its own; after ten corrections it is left to it, and `why` says so.
fn war(guest: &mut RigGuest) -> ScenarioOutcome {
    let mut keep =
        GuestLoop::new(guest, |_, last| last.to_string(), &LoopStart { options: "--strength exact", ..OWN })?;
    let nap = keep.nap()?;
    let (first, last) = (keep.first.to_string(), keep.last.to_string());
    keep.wait_for_mask(nap, &last)?;
    let other = format!(
        "while :; do [ \"$({})\" = {first} ] || taskset -pc {first} {nap} >/dev/null; sleep 0.3; done",
        mask_of(nap)
    );
    text(
        keep.guest,
        &format!(
            "cat >{PLACE}/other <<'END'\n{other}\nEND\nsh {PLACE}/other >/dev/null 2>&1 & echo $! >{PLACE}/other.pid"
        ),
    )?;
    keep.wait_for_log("10 corrections by corewise")?;
    keep.wait_for_mask(nap, &first)?;
    // The loop says how it stands once a second. Lines may be broken anywhere, and busybox runs taskset in the shell's own process.
    let why = format!("sh {PLACE}/keep why {nap} | tr -s ' \\n' ' ' | tee {PLACE}/why");
    let is_told = "grep -qE 'leaves it alone\\. .* released: (sh|taskset) \\('";
    keep.guest.wait_for("why it is left alone", &format!("{why} | {is_told} || {{ cat {PLACE}/why; false; }}"))?;
    text(keep.guest, &format!("kill $(cat {PLACE}/other.pid)"))?;
    keep.stop()?;
    same("what somebody else set", text(guest, &mask_of(nap))?.trim(), first.as_str())?;
    clear(guest)?;
    Ok(Completion::Completed)
}

/// The loop sleeps while its process ends and another gets the number.
fn reused(guest: &mut RigGuest) -> ScenarioOutcome {
    let mut keep = GuestLoop::new(guest, |_, last| last.to_string(), &OWN)?;
    let nap = keep.nap()?;
    let (first, last) = (keep.first.to_string(), keep.last.to_string());
    keep.wait_for_mask(nap, &last)?;
    let again = format!(
        "kill -STOP $(cat {PLACE}/pid); kill {nap}; while kill -0 {nap} 2>/dev/null; do :; done
        for try in $(seq 100); do
            echo {} >/proc/sys/kernel/ns_last_pid
            taskset -c {last} sleep 66666 >/dev/null 2>&1 &
            [ $! = {nap} ] && exit 0
            kill $!
        done
        exit 1",
        nap - 1
    );
    text(keep.guest, &again)?;
    // It has just what the rule gave to the other, so only its identity tells that it is not to be given back anything.
    text(keep.guest, &format!("kill -CONT $(cat {PLACE}/pid)"))?;
    keep.stop()?;
    same("the other process", text(guest, &mask_of(nap))?.trim(), last.as_str())?;
    text(guest, &format!("kill {nap}; [ {first} != {last} ]"))?;
    clear(guest)?;
    Ok(Completion::Completed)
}

/// In a network namespace of its own nobody gets the kernel's process events.
fn refused(guest: &mut RigGuest) -> ScenarioOutcome {
    let mut keep = GuestLoop::new(guest, |_, last| last.to_string(), &LoopStart { before: "unshare -n", ..OWN })?;
    let nap = keep.nap()?;
    let last = keep.last.to_string();
    keep.wait_for_mask(nap, &last)?;
    let all = keep.all.clone();
    let log = keep.stop()?;
    same(&log, log.contains("processes are seen by events"), false)?;
    same("what it had", text(guest, &mask_of(nap))?.trim(), all.as_str())?;
    clear(guest)?;
    Ok(Completion::Completed)
}

fn threads(guest: &mut RigGuest) -> ScenarioOutcome {
    let keep = GuestLoop::new(guest, |_, last| last.to_string(), &OWN)?;
    let (last, all) = (keep.last, keep.all.clone());
    // The word is behind the part; input stays open.
    let start = format!(
        "mkfifo {PLACE}/input; sleep 66666 >{PLACE}/input 2>/dev/null & echo $! >{PLACE}/writer
        actor act starts {WORD} <{PLACE}/input >{PLACE}/said 2>&1 & echo $!"
    );
    let actor: u32 = text(keep.guest, &start)?.trim().parse()?;
    text(keep.guest, &format!("yes | head -n 300 >{PLACE}/input"))?;
    let masks = format!("sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/{actor}/task/*/status");
    let count = |list: &str| format!("n=$({masks} | grep -cx '{list}'); echo $n; [ $n = 302 ]");
    keep.guest.wait_for("all threads there", &format!("n=$(ls /proc/{actor}/task | wc -l); echo $n; [ $n = 302 ]"))?;
    keep.guest.wait_for("all threads held", &count(&last.to_string()))?;
    keep.stop()?;
    text(guest, &count(&all))?;
    text(guest, &format!("kill {actor} $(cat {PLACE}/writer)"))?;
    clear(guest)?;
    Ok(Completion::Completed)
}

fn clock(guest: &mut RigGuest) -> ScenarioOutcome {
    held(
        guest,
        |_, last| last.to_string(),
        |keep, _| {
            for day in ["86400", "-172800", "86400"] {
                text(keep.guest, &format!("date -s @$(($(date +%s) + {day})) >/dev/null"))?;
                let nap = keep.nap()?;
                let last = keep.last.to_string();
                keep.wait_for_mask(nap, &last)?;
            }
            Ok(())
        },
    )
}

fn full(guest: &mut RigGuest) -> ScenarioOutcome {
    let mut keep = GuestLoop::new(guest, |_, last| last.to_string(), &OWN)?;
    let (last, all) = (keep.last.to_string(), keep.all.clone());
    let pid = format!("$(cat {PLACE}/pid)");
    text(keep.guest, &format!("kill {pid}; while kill -0 {pid} 2>/dev/null; do :; done"))?;
    text(keep.guest, &format!("mount -t tmpfs -o size=128k,mode=700 tmpfs {PLACE}/journals"))?;
    keep.start()?;
    let held = keep.nap()?;
    keep.wait_for_mask(held, &last)?;
    text(keep.guest, &format!("dd if=/dev/zero of={PLACE}/journals/rest bs=1k count=1000 2>/dev/null; true"))?;
    // What the journal's last page has room for still fits.
    let begun: Vec<u32> = (0..40).map(|_| keep.nap()).collect::<Result<_, _>>()?;
    keep.wait_for_log("was not placed")?;
    let mut masks = begun.iter().map(|nap| keep.mask(*nap)).collect::<Result<Vec<_>, _>>()?;
    same(&format!("what could not be journalled among {masks:?}"), masks.contains(&all), true)?;
    masks.retain(|mask| *mask != all && *mask != last);
    same("other masks", masks, Vec::new())?;
    text(keep.guest, &format!("rm {PLACE}/journals/rest"))?;
    keep.stop()?;
    for nap in begun.into_iter().chain([held]) {
        same("what they had", text(guest, &mask_of(nap))?.trim(), all.as_str())?;
    }
    text(guest, &format!("umount {PLACE}/journals"))?;
    clear(guest)?;
    Ok(Completion::Completed)
}

/// A system user with CAP_SYS_NICE places the processes of others, though not by the files that they execute, which only CAP_SYS_PTRACE shows.
fn capability(guest: &mut RigGuest) -> ScenarioOutcome {
    let way = LoopStart {
        before: "/usr/bin/setpriv --reuid user --regid user --clear-groups --inh-caps +sys_nice --ambient-caps +sys_nice",
        user: "user",
        scope: "--system",
        matches: "--match argv=77777 --match user=root",
        options: "",
    };
    let mut keep = GuestLoop::new(guest, |_, last| last.to_string(), &way)?;
    let nap = keep.nap()?;
    let (last, all) = (keep.last.to_string(), keep.all.clone());
    keep.wait_for_mask(nap, &last)?;
    text(
        keep.guest,
        &format!("sh {PLACE}/keep add files --match 'exe=*/busybox' --match user=root --on {last} >/dev/null"),
    )?;
    keep.guest.wait_for(
        "what is missing",
        &format!("sh {PLACE}/keep >{PLACE}/said; cat {PLACE}/said; grep -q 'cannot be read' {PLACE}/said"),
    )?;
    keep.stop()?;
    same("what it had", text(guest, &mask_of(nap))?.trim(), all.as_str())?;
    clear(guest)?;
    Ok(Completion::Completed)
}
