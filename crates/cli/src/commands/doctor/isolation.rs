//! `corewise doctor --isolation`: what may still disturb cpus that should run one program alone, and what to do about each.

use std::collections::BTreeMap;
use std::time::Duration;

use corewise_machine::interrupt::device::{DeviceInterrupt, InterruptMobility};
use corewise_machine::{CpuSet, Level, Machine, suggested_command};
use corewise_sys::Root;
use corewise_sys::irq;
use corewise_sys::isolation::IsolationFacts;

use super::document::{CheckState, DoctorCheck, DoctorDocument};
use super::new_check;
use super::screen::draw_checks;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::output::show_result;
use crate::app::placement::parse_expression;
use crate::app::placing::resolve_for_all;
use crate::app::settings::ProgramSettings;
use crate::app::tenants::{CpuTenant, list_tenants};
use crate::draw::number::{format_brief, format_count};
use crate::draw::suggestion;

/// Duration of the look at all processes.
const LOOK: Duration = Duration::from_secs(1);
/// Longest time to leave an idle state, in microseconds, that disturbs nobody.
const QUICK_US: u64 = 2;
/// Maximum number of names in a sentence.
const MOST_NAMES: usize = 4;
/// Interval of updating statistics, in seconds, from which on it disturbs nobody.
const SELDOM_S: u64 = 60;

/// Examines the cpus and shows the checks.
pub fn run(text: &str, machine: &Machine, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
    let expression = parse_expression(text)?;
    let cpus = resolve_for_all(&expression, machine, settings).map_err(|failure| match text {
        "isolated" => failure.with_hint(format!(
            "Name the cpus that should run undisturbed: {}",
            suggestion::format_typed(&suggested_command::doctor_isolation("2-7"))
        )),
        _ => failure,
    })?;
    let cpus = cpus.cpus;
    let root = Root::this_machine();
    let audit = IsolationAudit {
        facts: &IsolationFacts::read_facts(&root, &cpus),
        interrupts: &irq::read_interrupts(&root),
        tenants: &list_tenants(&cpus, LOOK),
        cpus: &cpus,
        machine,
    };
    let checks = audit.make_checks();
    let gaps = checks.iter().filter(|check| check.state == CheckState::Gap).count();
    let (noun, them) = if cpus.len() == 1 { ("Cpu", "it") } else { ("Cpus", "them") };
    let summary = match gaps {
        0 => format!("{noun} {cpus}: nothing that is known here disturbs {them}."),
        _ => format!("{noun} {cpus}: {} may disturb {them}.", format_count(gaps, "thing")),
    };
    show_result(settings, || DoctorDocument::new(&checks), || draw_checks(&checks, &summary, settings.width))?;
    Ok(CommandExit::Done)
}

/// The facts about cpus that should run one program alone.
struct IsolationAudit<'a> {
    cpus: &'a CpuSet,
    machine: &'a Machine,
    facts: &'a IsolationFacts,
    interrupts: &'a [DeviceInterrupt],
    tenants: &'a [CpuTenant],
}

impl IsolationAudit<'_> {
    fn make_checks(&self) -> Vec<DoctorCheck> {
        let checks = [
            Some(self.check_balancing()),
            Some(self.check_tick()),
            Some(self.check_callbacks()),
            self.check_siblings(),
            Some(self.check_movable()),
            self.check_managed(),
            self.check_new_interrupts(),
            self.check_work_queues(),
            Some(self.check_tenants(true)),
            Some(self.check_tenants(false)),
            self.check_timers(),
            self.check_watchdog(),
            self.check_idle_states(),
            self.check_governors(),
            self.check_memory(),
            self.check_statistics(),
        ];
        checks.into_iter().flatten().collect()
    }

    /// Returns a check of cpus that lack a property: good if all have it.
    fn check_lacking(&self, what: &str, having: &CpuSet, good: &str, bad: &str, cure: &str) -> DoctorCheck {
        let lacking = self.cpus.difference(having);
        if lacking.is_empty() {
            return new_check(what, CheckState::Good, good);
        }
        new_check(what, CheckState::Gap, format!("{lacking}: {bad}"))
            .with_cure(cure.replace("CPUS", &self.cpus.to_string()))
    }

    /// Returns the online cpus for everything else.
    fn others(&self) -> CpuSet {
        self.machine.online.difference(self.cpus)
    }

    fn check_balancing(&self) -> DoctorCheck {
        let apart = self.machine.isolated.union(&self.facts.partitions);
        let good = "the scheduler moves no task there that was not placed there; it balances none between them either, so pin each \
                    thread to one cpu";
        let cure =
            "isolcpus=managed_irq,domain,CPUS on the kernel's command line, or a cpuset partition of type isolated";
        self.check_lacking("load balancing", &apart, good, "the scheduler may move any task there", cure)
    }

    fn check_tick(&self) -> DoctorCheck {
        let good = "stops while one task runs there (nohz_full)";
        let cure = "nohz_full=CPUS on the kernel's command line";
        self.check_lacking("timer tick", &self.machine.nohz_full, good, "comes 100 to 1,000 times a second", cure)
    }

    fn check_callbacks(&self) -> DoctorCheck {
        let having = self.facts.without_callbacks.union(&self.machine.nohz_full);
        let cure = "rcu_nocbs=CPUS on the kernel's command line";
        self.check_lacking("RCU callbacks", &having, "run elsewhere (rcu_nocbs)", "run there, in soft interrupts", cure)
    }

    fn check_siblings(&self) -> Option<DoctorCheck> {
        const WHAT: &str = "SMT siblings";
        let cores = self.machine.objects_of(Level::Core);
        let split = cores.iter().filter(|core| !core.is_disjoint(self.cpus) && !core.is_subset(self.cpus));
        let outside = split.fold(CpuSet::new(), |all, core| all.union(&core.difference(self.cpus)));
        if cores.iter().all(|core| core.len() < 2) {
            return None;
        }
        if outside.is_empty() {
            return Some(new_check(WHAT, CheckState::Good, "both cpus of each core are among them"));
        }
        let why = format!("{outside} share cores with them, so programs there slow them");
        Some(new_check(WHAT, CheckState::Gap, why).with_cure(format!("isolate {} too", self.cpus.union(&outside))))
    }

    /// Returns interrupts of a mobility that go to these cpus: by their counts if there are any, otherwise by the kernel's word.
    fn interrupts_there(&self, mobility: InterruptMobility) -> Vec<&DeviceInterrupt> {
        let is_there = |interrupt: &&DeviceInterrupt| {
            interrupt.mobility == mobility && interrupt.handling_cpus().is_some_and(|cpus| !cpus.is_disjoint(self.cpus))
        };
        self.interrupts.iter().filter(is_there).collect()
    }

    fn check_movable(&self) -> DoctorCheck {
        const WHAT: &str = "device interrupts";
        let there = self.interrupts_there(InterruptMobility::Movable);
        if there.is_empty() {
            return new_check(WHAT, CheckState::Good, "none that can be moved goes there");
        }
        let names = list_names(there.iter().map(|interrupt| interrupt.joined_handlers()));
        let command = suggestion::format_typed(&suggested_command::irq_away_from(&self.cpus.to_string()));
        new_check(WHAT, CheckState::Gap, format!("{} may go there: {names}", format_count(there.len(), "interrupt")))
            .with_cure(command)
    }

    fn check_managed(&self) -> Option<DoctorCheck> {
        const WHAT: &str = "managed interrupts";
        let there = self.interrupts_there(InterruptMobility::Managed);
        let spares = self.facts.isolcpus.as_ref().is_some_and(|flags| flags.contains("managed_irq"));
        let names = list_names(there.iter().map(|interrupt| interrupt.joined_handlers()));
        match (there.is_empty(), spares) {
            (true, _) => None,
            (false, true) => {
                let why = format!("{names}: those queues are used only by programs on these cpus (managed_irq)");
                Some(new_check(WHAT, CheckState::Note, why))
            }
            (false, false) => Some(
                new_check(WHAT, CheckState::Gap, format!("{names} cannot be moved"))
                    .with_cure(format!("isolcpus=managed_irq,domain,{} on the kernel's command line", self.cpus)),
            ),
        }
    }

    fn check_new_interrupts(&self) -> Option<DoctorCheck> {
        let default = self.facts.new_interrupts.as_ref()?.intersection(self.cpus);
        if default.is_empty() {
            return None;
        }
        let why = format!("interrupts of devices that appear later may go to {default}");
        let others = self.others();
        let cure = format!("sudo sh -c 'echo {} > /proc/irq/default_smp_affinity'", others.to_hexadecimal());
        Some(with_others(new_check("new interrupts", CheckState::Note, why), &others, cure))
    }

    fn check_work_queues(&self) -> Option<DoctorCheck> {
        let there = self.facts.work_queues.as_ref()?.intersection(self.cpus);
        if there.is_empty() {
            return Some(new_check("work queues", CheckState::Good, "unbound work of the kernel runs elsewhere"));
        }
        let others = self.others();
        let cure = format!("sudo sh -c 'echo {} > /sys/devices/virtual/workqueue/cpumask'", others.to_hexadecimal());
        let why = format!("unbound work of the kernel may run on {there}");
        Some(with_others(new_check("work queues", CheckState::Gap, why), &others, cure))
    }

    /// Checks kernel threads that are not bound to one cpu, or programs.
    fn check_tenants(&self, of_kernel: bool) -> DoctorCheck {
        let what = if of_kernel { "kernel threads" } else { "programs" };
        let is_one = |tenant: &&CpuTenant| tenant.is_kernel == of_kernel && !(of_kernel && tenant.cpus.len() == 1);
        let there: Vec<&CpuTenant> = self.tenants.iter().filter(is_one).collect();
        let ran: Vec<&&CpuTenant> = there.iter().filter(|tenant| tenant.ran_ms > 0.0).collect();
        let may = match of_kernel {
            true => format_count(there.len(), "unbound thread"),
            false => format_count(there.len(), "program"),
        };
        if there.is_empty() {
            return new_check(what, CheckState::Good, "none may run there");
        }
        let is_apart = self.cpus.is_subset(&self.machine.isolated.union(&self.facts.partitions));
        let state = if ran.is_empty() && is_apart { CheckState::Note } else { CheckState::Gap };
        let named = |tenant: &&&CpuTenant| format!("{} {} ms", tenant.name, format_brief(tenant.ran_ms));
        let did = match ran.is_empty() {
            true => "none did in the last second".to_owned(),
            false => format!("in the last second: {}", list_names(ran.iter().map(named))),
        };
        let list = suggestion::format_typed(&suggested_command::place_who(&self.cpus.to_string()));
        new_check(what, state, format!("{may} may run there; {did}")).with_cure(list)
    }

    fn check_timers(&self) -> Option<DoctorCheck> {
        let timers = self.facts.timers.as_ref()?;
        let mut by_function: BTreeMap<&str, usize> = BTreeMap::new();
        for (function, count) in
            timers.iter().filter(|(cpu, _)| self.cpus.contains(**cpu)).flat_map(|(_, of_cpu)| of_cpu)
        {
            *by_function.entry(function).or_default() += count;
        }
        if by_function.is_empty() {
            return Some(new_check("timers", CheckState::Good, "none is pending there"));
        }
        let mut sorted: Vec<(&str, usize)> = by_function.into_iter().collect();
        sorted.sort_by_key(|(function, count)| (std::cmp::Reverse(*count), *function));
        let names = list_names(sorted.iter().map(|(function, count)| format!("{function} {count}")));
        Some(new_check("timers", CheckState::Note, format!("pending there, by function: {names}")))
    }

    fn check_watchdog(&self) -> Option<DoctorCheck> {
        let watched = self.facts.watchdog.intersection(self.cpus);
        let why = format!("interrupts {watched} every few seconds, and takes a performance counter of each");
        let check =
            || new_check("watchdog of lockups", CheckState::Note, why).with_cure("sudo sysctl kernel.nmi_watchdog=0");
        (!watched.is_empty()).then(check)
    }

    fn check_idle_states(&self) -> Option<DoctorCheck> {
        const WHAT: &str = "idle states";
        let states = &self.facts.idle_states;
        let (name, latency_us) = states.values().max_by_key(|(_, latency_us)| *latency_us)?;
        if *latency_us <= QUICK_US {
            return Some(new_check(
                WHAT,
                CheckState::Good,
                format!("the deepest is {name}, left within {latency_us} us"),
            ));
        }
        let why = format!("{name} takes {latency_us} us to leave, whenever the program has waited");
        let cure = format!("sudo cpupower -c {} idle-set -D {QUICK_US}", self.cpus);
        Some(new_check(WHAT, CheckState::Note, why).with_cure(cure))
    }

    fn check_governors(&self) -> Option<DoctorCheck> {
        let other = self.facts.governors.values().find(|governor| *governor != "performance");
        let why = || format!("{}: the clock rate follows the load", other.map_or("", String::as_str));
        match (self.facts.governors.is_empty(), other) {
            (true, _) => None,
            (false, None) => Some(new_check("frequency governor", CheckState::Good, "performance")),
            (false, Some(_)) => Some(
                new_check("frequency governor", CheckState::Note, why())
                    .with_cure(format!("sudo cpupower -c {} frequency-set -g performance", self.cpus)),
            ),
        }
    }

    fn check_memory(&self) -> Option<DoctorCheck> {
        let mut settings = Vec::new();
        let mut cures = Vec::new();
        if self.facts.huge_pages.as_deref() == Some("always") {
            settings.push("pages are joined to huge ones while a program runs (transparent_hugepage=always)");
            cures.push("sudo sh -c 'echo madvise > /sys/kernel/mm/transparent_hugepage/enabled'");
        }
        if self.facts.balances_nodes {
            settings.push("pages are unmapped to see which node uses them (numa_balancing)");
            cures.push("sudo sysctl kernel.numa_balancing=0");
        }
        let check = || new_check("memory", CheckState::Note, settings.join("; ")).with_cure(cures.join("; "));
        (!settings.is_empty()).then(check)
    }

    fn check_statistics(&self) -> Option<DoctorCheck> {
        let seconds = self.facts.statistics_s.filter(|seconds| *seconds < SELDOM_S)?;
        let why = format!("each cpu updates those of memory every {seconds} s (vm.stat_interval)");
        Some(new_check("statistics", CheckState::Note, why).with_cure("sudo sysctl vm.stat_interval=3600"))
    }
}

/// Adds a cure that sends something to other cpus, if there are any.
fn with_others(check: DoctorCheck, others: &CpuSet, cure: String) -> DoctorCheck {
    if others.is_empty() { check } else { check.with_cure(cure) }
}

/// Joins names, and counts the rest if there are too many.
fn list_names(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(MOST_NAMES);
    let shown: Vec<String> = names.take(MOST_NAMES).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &more
}

#[cfg(test)]
mod tests {
    use corewise_machine::machine_file::BUILT_IN;
    use insta::assert_snapshot;

    use super::*;

    fn set(list: &str) -> CpuSet {
        CpuSet::parse_list(list).unwrap()
    }

    fn interrupt(number: u32, name: &str, now: &str, mobility: InterruptMobility) -> DeviceInterrupt {
        DeviceInterrupt {
            number,
            handlers: vec![name.to_owned()],
            driver: None,
            device: None,
            chip: None,
            hardware_number: None,
            trigger: None,
            allowed: Some(set(now)),
            effective: Some(set(now)),
            hint: None,
            node: None,
            wakes: None,
            mobility,
            counts: Vec::new(),
        }
    }

    fn tenant(name: &str, is_kernel: bool, cpus: &str, ran_ms: f64) -> CpuTenant {
        CpuTenant {
            process: 7,
            name: name.into(),
            is_kernel,
            threads: 1,
            cpus: set(cpus),
            seen_on: CpuSet::new(),
            ran_ms,
        }
    }

    /// 16 cpus in two nodes, two threads a core: n and n+8.
    fn machine(isolated: &str) -> Machine {
        let machine = BUILT_IN.iter().find(|machine| machine.name == "simulated-2-packages").unwrap();
        let machine = machine.read_machine().unwrap().machine;
        Machine { isolated: set(isolated), nohz_full: set(isolated), ..machine }
    }

    fn audited(facts: &IsolationFacts, cpus: &str, isolated: &str) -> String {
        let interrupts = [
            interrupt(40, "eth0-TxRx-0", "3", InterruptMobility::Movable),
            interrupt(41, "nvme0q3", "3", InterruptMobility::Managed),
            interrupt(42, "eth1", "5", InterruptMobility::Movable),
        ];
        let tenants = [
            tenant("kcompactd0", true, "0-15", 1.5),
            tenant("ksoftirqd/3", true, "3", 0.1),
            tenant("sshd", false, "0-15", 0.0),
        ];
        let (cpus, machine) = (set(cpus), machine(isolated));
        let audit =
            IsolationAudit { cpus: &cpus, machine: &machine, facts, interrupts: &interrupts, tenants: &tenants };
        draw_checks(&audit.make_checks(), "Done.", 100).to_plain()
    }

    #[test]
    fn each_disturbance_has_its_cure() {
        let facts = IsolationFacts {
            work_queues: Some(set("0-15")),
            new_interrupts: Some(set("0-15")),
            watchdog: set("0-15"),
            huge_pages: Some("always".into()),
            balances_nodes: true,
            statistics_s: Some(1),
            governors: BTreeMap::from([(2, "performance".into()), (3, "schedutil".into())]),
            idle_states: BTreeMap::from([(2, ("POLL".into(), 0)), (3, ("C6".into(), 170))]),
            timers: Some(BTreeMap::from([(3, BTreeMap::from([("hrtimer_wakeup".into(), 2)])), (0, BTreeMap::new())])),
            ..IsolationFacts::default()
        };
        assert_snapshot!(audited(&facts, "2-3", ""), @r"
        gap   load balancing: 2,3: the scheduler may move any task there
                isolcpus=managed_irq,domain,2,3 on the kernel's command line, or a cpuset partition of type
                isolated
        gap   timer tick: 2,3: comes 100 to 1,000 times a second
                nohz_full=2,3 on the kernel's command line
        gap   RCU callbacks: 2,3: run there, in soft interrupts
                rcu_nocbs=2,3 on the kernel's command line
        gap   SMT siblings: 10,11 share cores with them, so programs there slow them
                isolate 2,3,10,11 too
        gap   device interrupts: 1 interrupt may go there: eth0-TxRx-0
                corewise irq --away-from 2,3
        gap   managed interrupts: nvme0q3 cannot be moved
                isolcpus=managed_irq,domain,2,3 on the kernel's command line
        gap   work queues: unbound work of the kernel may run on 2,3
                sudo sh -c 'echo fff3 > /sys/devices/virtual/workqueue/cpumask'
        gap   kernel threads: 1 unbound thread may run there; in the last second: kcompactd0 1.5 ms
                corewise place 2,3 --who
        gap   programs: 1 program may run there; none did in the last second
                corewise place 2,3 --who
        note  new interrupts: interrupts of devices that appear later may go to 2,3
                sudo sh -c 'echo fff3 > /proc/irq/default_smp_affinity'
        note  timers: pending there, by function: hrtimer_wakeup 2
        note  watchdog of lockups: interrupts 2,3 every few seconds, and takes a performance counter of each
                sudo sysctl kernel.nmi_watchdog=0
        note  idle states: C6 takes 170 us to leave, whenever the program has waited
                sudo cpupower -c 2,3 idle-set -D 2
        note  frequency governor: schedutil: the clock rate follows the load
                sudo cpupower -c 2,3 frequency-set -g performance
        note  memory: pages are joined to huge ones while a program runs (transparent_hugepage=always);
              pages are unmapped to see which node uses them (numa_balancing)
                sudo sh -c 'echo madvise > /sys/kernel/mm/transparent_hugepage/enabled'; sudo sysctl
                kernel.numa_balancing=0
        note  statistics: each cpu updates those of memory every 1 s (vm.stat_interval)
                sudo sysctl vm.stat_interval=3600

        Done.
        ");
    }

    #[test]
    fn what_is_isolated_is_said_to_be() {
        let facts = IsolationFacts {
            isolcpus: Some("managed_irq,domain,3,11".into()),
            work_queues: Some(set("0-2")),
            timers: Some(BTreeMap::new()),
            ..IsolationFacts::default()
        };
        assert_snapshot!(audited(&facts, "3,11", "3,11"), @r"
        gap   device interrupts: 1 interrupt may go there: eth0-TxRx-0
                corewise irq --away-from 3,11
        gap   kernel threads: 1 unbound thread may run there; in the last second: kcompactd0 1.5 ms
                corewise place 3,11 --who
        note  managed interrupts: nvme0q3: those queues are used only by programs on these cpus
              (managed_irq)
        note  programs: 1 program may run there; none did in the last second
                corewise place 3,11 --who
        good  load balancing: the scheduler moves no task there that was not placed there; it balances none
              between them either, so pin each thread to one cpu
        good  timer tick: stops while one task runs there (nohz_full)
        good  RCU callbacks: run elsewhere (rcu_nocbs)
        good  SMT siblings: both cpus of each core are among them
        good  work queues: unbound work of the kernel runs elsewhere
        good  timers: none is pending there

        Done.
        ");
    }
}
