//! Scenarios: a command runs where it is placed, from its first instruction on, and nowhere else.

use corewise_rig::cpus::{self, CpuNumbers};
use corewise_rig::{RigGuest, RigMachine};
use libtest_mimic::{Completion, Failed};

use crate::expressions::{Case, cases, reachable};
use crate::found::{as_user, same, text};
use crate::{EVERYWHERE, ONCE, Scenario, ScenarioOutcome, WHERE_LIMITED};

/// Machines on which a choice can be made.
pub const HAS_TWO: fn(&RigMachine) -> bool = |machine| reachable(machine).len() > 1;

pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "every_expression_is_in_force", each_change: EVERYWHERE, applies: EVERYWHERE, run: expressions },
    Scenario {
        name: "a_spread_over_nodes_puts_one_on_each",
        each_change: EVERYWHERE,
        applies: |machine| machine.nodes.len() > 1,
        run: one_on_each_node,
    },
    Scenario {
        name: "nothing_starts_where_a_placement_cannot_be_had",
        each_change: WHERE_LIMITED,
        applies: EVERYWHERE,
        run: refusals,
    },
    Scenario {
        name: "the_first_instruction_is_on_a_chosen_cpu",
        each_change: WHERE_LIMITED,
        applies: HAS_TWO,
        run: first_instruction,
    },
    Scenario { name: "a_command_that_pins_itself_is_put_back", each_change: ONCE, applies: HAS_TWO, run: put_back },
];

/// What a process is told about itself: its mask, and the cpu that it last ran on.
const OWN_FILES: &str = "cat /proc/self/status /proc/self/stat";

/// Number of expressions in one step: large machines resolve slowly under emulation, and a step has a limit.
const AT_A_TIME: usize = 8;

fn expressions(guest: &mut RigGuest) -> ScenarioOutcome {
    for cases in cases(guest.machine()).chunks(AT_A_TIME) {
        all_in_force(guest, cases)?;
    }
    Ok(Completion::Completed)
}

fn all_in_force(guest: &mut RigGuest, cases: &[Case]) -> Result<(), Failed> {
    let mut script = String::new();
    for (at, (expression, _)) in cases.iter().enumerate() {
        // Half of the commands are watched, which starts them in another way.
        let option = ["", "-v"][at % 2];
        script.push_str(&format!(
            "echo '== placed'; corewise place '{expression}' --as list 2>/tmp/told || cat /tmp/told\n\
             echo '== ran'; corewise run {option} --on '{expression}' -- {OWN_FILES} >/tmp/own 2>/tmp/told || cat /tmp/told\n\
             grep -E '^(Cpus_allowed_list:|[0-9]+ [(])' /tmp/own; rm -f /tmp/own /tmp/told\n"
        ));
    }
    let told = guest.run(&as_user(&script))?.stdout_text();
    let mut parts = told.split("== ").skip(1);
    for (expression, list) in cases {
        let (placed, ran) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let what = |which: &str| format!("{which} of `{expression}` in\n{placed}{ran}");
        same(&what("the cpus"), placed.strip_prefix("placed\n").map(sorted), Some(list.clone()))?;
        same(&what("the mask"), mask(ran), Some(list.clone()))?;
        let cpu = last_cpu(ran);
        same(&what("the cpu it ran on is one"), cpu.is_some_and(|cpu| cpus::parse(list).contains(&cpu)), true)?;
    }
    Ok(())
}

/// As many cpus as nodes have some, spread over them: no two are of one node.
fn one_on_each_node(guest: &mut RigGuest) -> ScenarioOutcome {
    let expected = guest.machine().expected_machine();
    let allowed = cpus::parse(&expected.allowed);
    let nodes: Vec<CpuNumbers> = expected.nodes.iter().map(|node| &cpus::parse(&node.cpus) & &allowed).collect();
    let nodes: Vec<CpuNumbers> = nodes.into_iter().filter(|cpus| !cpus.is_empty()).collect();
    let told = text(guest, &as_user(&format!("corewise run --on 'spread({}, node)' -- {OWN_FILES}", nodes.len())))?;
    let chosen = cpus::parse(&mask(&told).unwrap_or_default());
    let of_each: Vec<usize> = nodes.iter().map(|node| (node & &chosen).len()).collect();
    same(&format!("how many of {chosen:?} each node gave"), of_each, vec![1; nodes.len()])?;
    Ok(Completion::Completed)
}

/// `corewise place` gives the order of threads; the kernel counts upwards.
pub fn sorted(list: &str) -> String {
    cpus::parse_list(list).map_or_else(|| list.to_owned(), |cpus| cpus::format_list(&cpus))
}

/// The mask in what [`OWN_FILES`] prints.
pub fn mask(files: &str) -> Option<String> {
    let line = files.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(sorted(line.trim()))
}

/// The cpu in what [`OWN_FILES`] prints: the 39th field of /proc/PID/stat, of which the name in parentheses is the second.
fn last_cpu(files: &str) -> Option<u32> {
    let (_, fields) = files.lines().last()?.rsplit_once(") ")?;
    fields.split(' ').nth(39 - 3)?.parse().ok()
}

fn refusals(guest: &mut RigGuest) -> ScenarioOutcome {
    let machine = guest.machine();
    let count = machine.present_cpus().len();
    let mut cases = vec![
        (format!("{count}"), format!("cpu {count}: this machine has cpus"), 3),
        ("core:999".to_owned(), "core:999: this machine has".to_owned(), 3),
        ("core:0 - core:0".to_owned(), "no cpu is left".to_owned(), 3),
        ("vcache".to_owned(), "no die of this machine has stacked cache".to_owned(), 3),
        ("0-".to_owned(), "error: ".to_owned(), 2),
    ];
    let offline = &machine.present_cpus() - &cpus::parse(&machine.expected_machine().online);
    let outside = &cpus::parse(&machine.expected_machine().online) - &reachable(machine);
    cases.extend(offline.first().map(|cpu| (cpu.to_string(), "offline".to_owned(), 3)));
    cases.extend(outside.first().map(|cpu| (cpu.to_string(), "outside the cpuset".to_owned(), 3)));
    let options =
        |expression: &str| ["", "-v", "--enforce exact"].map(|option| format!("{option} --on '{expression}'"));
    let cases: Vec<RefusedOptions> = cases
        .iter()
        .flat_map(|(expression, words, code)| options(expression).map(|options| (options, words.as_str(), *code)))
        .collect();
    all_refused(guest, &cases)?;
    Ok(Completion::Completed)
}

/// Options of `corewise run`, a part of what is said of them, and the exit status.
pub type RefusedOptions<'a> = (String, &'a str, i32);

/// A user's commands with these options are not started.
pub fn all_refused(guest: &mut RigGuest, cases: &[RefusedOptions]) -> Result<(), Failed> {
    let run = |(options, _, _): &RefusedOptions| {
        format!(
            "echo \"== \"; corewise run {options} -- touch /tmp/started 2>&1; echo \"status $?\"; ls /tmp/started 2>/dev/null\n"
        )
    };
    let script: String = cases.iter().map(run).collect();
    let told = guest.run(&as_user(&format!("rm -f /tmp/started\n{script}")))?.stdout_text();
    let mut parts = told.split("== \n").skip(1);
    for (options, words, code) in cases {
        let part = parts.next().unwrap_or_default();
        // Behind the status there is nothing: the command was not started.
        same(&format!("the end of what {options} says\n{part}"), part.ends_with(&format!("\nstatus {code}\n")), true)?;
        same(&format!("{words:?} is said of {options}\n{part}"), part.contains(words), true)?;
    }
    Ok(())
}

/// The kernel says on which cpu a program is when it begins: its event `sched_process_exec`. Whoever starts corewise is on one
/// cpu, and the command belongs on another.
fn first_instruction(guest: &mut RigGuest) -> ScenarioOutcome {
    let all = reachable(guest.machine());
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return Err("there are no two cpus".into()) };
    for (from, to) in [(first, last), (last, first)] {
        // The second way of naming the cpu takes a look at the machine, and the third starts a child.
        for how in [format!("--on {to}"), format!("--on '{to} + {to}'"), format!("-v --on {to}")] {
            let started = started_on(guest, &format!("taskset -c {from} corewise run {how} -- /bin/true"))?;
            same(&format!("where `{how}` from cpu {from} began"), started, vec![*to])?;
        }
    }
    Ok(Completion::Completed)
}

const EVENT: &str = "/sys/kernel/tracing/events/sched/sched_process_exec";

/// The cpus on which /bin/true was started while a user's command ran.
fn started_on(guest: &mut RigGuest, command: &str) -> Result<Vec<u32>, Failed> {
    text(guest, &format!("echo >/sys/kernel/tracing/trace\necho 1 >{EVENT}/enable"))?;
    let outcome = guest.run(&as_user(command))?;
    let trace = text(guest, &format!("echo 0 >{EVENT}/enable\ncat /sys/kernel/tracing/trace"))?;
    same(&format!("the status of `{command}`\n{}", outcome.stderr), outcome.code, 0)?;
    let of_it = trace.lines().filter(|line| line.contains("filename=/bin/true "));
    // "<...>-123     [005] .....    12.345678: sched_process_exec: filename=/bin/true pid=123 old_pid=123"
    let cpu = |line: &str| line.split_once('[')?.1.split_once(']')?.0.parse().ok();
    Ok(of_it.filter_map(cpu).collect())
}

fn put_back(guest: &mut RigGuest) -> ScenarioOutcome {
    let all: Vec<u32> = reachable(guest.machine()).into_iter().collect();
    let (on, other) = (all[all.len() - 1], all[0]);
    // It looks until it is back; it gives up after longer than any look takes.
    let command = format!(
        "taskset -pc {other} $$ >/dev/null; n=0; while taskset -pc $$ | grep -q \": {other}$\" && [ $n -lt 3000 ]; \
         do n=$((n+1)); done; {OWN_FILES}"
    );
    for how in ["exact", "boundary"] {
        let script = format!("corewise run --on {on} --enforce {how} -- sh -c '{command}'");
        let outcome = guest.run(&as_user(&script))?;
        let what = format!("{how}: {}{}", outcome.stdout_text(), outcome.stderr);
        same(&what, mask(&outcome.stdout_text()), Some(on.to_string()))?;
        let words = format!("changed its cpus to {other}; reset to {on}");
        same(&what, (outcome.code, outcome.stderr.contains(&words)), (0, true))?;
    }
    narrowed(guest, &all)
}

/// Inside of its cpus a command may choose under `boundary`, and not under `exact`.
fn narrowed(guest: &mut RigGuest, all: &[u32]) -> ScenarioOutcome {
    let on: CpuNumbers = all[all.len() - 2..].iter().copied().collect();
    let (list, own) = (cpus::format_list(&on), all[all.len() - 1]);
    let command = format!("taskset -pc {own} $$ >/dev/null; while [ ! -e /tmp/told ]; do sleep 0; done; {OWN_FILES}");
    for (how, left, words) in [("boundary", own.to_string(), "not reset"), ("exact", list.clone(), "reset to")] {
        let script = format!(
            "rm -f /tmp/told /tmp/err\n\
             corewise run --on {list} --enforce {how} -- sh -c '{command}' >/tmp/out 2>/tmp/err &\n\
             n=0; while ! grep -q 'changed its cpus' /tmp/err 2>/dev/null && [ $n -lt 30000 ]; do n=$((n+1)); done\n\
             touch /tmp/told; wait; cat /tmp/out; cat /tmp/err >&2; rm -f /tmp/told /tmp/out /tmp/err"
        );
        let outcome = guest.run(&as_user(&script))?;
        let what = format!("{how}: {}{}", outcome.stdout_text(), outcome.stderr);
        same(&what, mask(&outcome.stdout_text()), Some(left))?;
        same(&what, outcome.stderr.contains(&format!("changed its cpus to {own}; {words}")), true)?;
    }
    Ok(Completion::Completed)
}
