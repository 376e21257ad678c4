//! Screens of interrupts: a guest, a server with many queues, an Arm board, and what became of moves.

use corewise_machine::CpuSet;
use corewise_machine::interrupt::device::CpuCount;
use corewise_machine::interrupt::plan::{InterruptMove, StayingInterrupt};
use corewise_machine::placement::{ExcludedCpus, ExclusionReason};
use insta::assert_snapshot;

use super::super::document::{AwayReport, IrqDocument, MoveFate, MoveKind, MoveReport};
use super::*;
use crate::draw::fixtures::fabricated::list;
use crate::draw::fixtures::hostile;
use crate::draw::suggestion::quote_word;

fn interrupt(number: u32, name: &str, driver: &str, allowed: &str, now: &str) -> DeviceInterrupt {
    let set = |text: &str| Some(list(text)).filter(|cpus| !cpus.is_empty());
    DeviceInterrupt {
        number,
        handlers: vec![name.to_owned()],
        driver: Some(driver.to_owned()),
        device: Some("0000:01:00.0".to_owned()),
        chip: Some("PCI-MSIX-0000:01:00.0".to_owned()),
        hardware_number: Some(u64::from(number)),
        trigger: Some("edge".to_owned()),
        allowed: set(allowed),
        effective: set(now),
        hint: None,
        node: Some(0),
        wakes: Some(false),
        mobility: InterruptMobility::Movable,
        counts: Vec::new(),
    }
}

fn of_chip(number: u32, name: &str, chip: &str, allowed: &str, now: &str) -> DeviceInterrupt {
    let chip = Some(chip.to_owned());
    DeviceInterrupt { driver: None, device: None, chip, ..interrupt(number, name, "", allowed, now) }
}

fn counted(mut interrupt: DeviceInterrupt, counts: &[(u32, u64, f64)]) -> DeviceInterrupt {
    let count = |&(cpu, since_boot, rate)| CpuCount { cpu, since_boot, per_second: Some(rate) };
    interrupt.counts = counts.iter().map(count).collect();
    interrupt
}

fn managed(interrupt: DeviceInterrupt) -> DeviceInterrupt {
    DeviceInterrupt { mobility: InterruptMobility::Managed, ..interrupt }
}

/// A guest of two cpus.
fn guest() -> InterruptListing {
    let interrupts = vec![
        counted(of_chip(26, "ttyS0", "IO-APIC", "0-1", "1"), &[(1, 13, 0.0)]),
        counted(managed(interrupt(36, "virtio1-req.0", "virtio-pci", "0-1", "1")), &[(1, 2_790_351, 1204.4)]),
        counted(interrupt(38, "virtio2-input.0", "virtio-pci", "0-1", "1"), &[(0, 900, 100.0), (1, 17_979, 12.5)]),
    ];
    InterruptListing { counted_s: Some(1.0), costs: None, irqbalance: None, interrupts, findings: Vec::new() }
}

/// A server of 128 cpus: a drive with a queue for each, a network card with 64 that irqbalance places.
fn server() -> InterruptListing {
    let mut interrupts = vec![
        of_chip(0, "timer", "IR-IO-APIC", "0-127", "0"),
        of_chip(16, "i801_smbus, ehci_hcd:usb1", "IR-IO-APIC", "0-127", "3"),
        interrupt(24, "nvme0q0", "nvme", "0-127", "0"),
    ];
    interrupts[0].mobility = InterruptMobility::Fixed;
    for cpu in 0..128 {
        let (name, cpus) = (format!("nvme0q{}", cpu + 1), cpu.to_string());
        let queue = managed(interrupt(25 + cpu, &name, "nvme", &cpus, &cpus));
        interrupts.push(counted(queue, &[(cpu, 100, 10.0)]));
    }
    for queue in 0..64 {
        let (name, cpus) = (format!("eth0-TxRx-{queue}"), (2 * queue).to_string());
        let queue = interrupt(160 + queue, &name, "ixgbe", "0-127", &cpus);
        interrupts.push(counted(queue, &[(cpus.parse().unwrap(), 100, if cpus == "6" { 50_000.0 } else { 3.0 })]));
    }
    InterruptListing { counted_s: Some(10.0), costs: None, irqbalance: Some(812), interrupts, findings: Vec::new() }
}

fn shown(listing: &InterruptListing, width: usize) -> String {
    draw_screen(listing, width).to_plain()
}

#[test]
fn a_guest_in_a_table() {
    insta::assert_snapshot!(shown(&guest(), 80), @r"
    Device interrupts, counted for 1.0 s

      irq  handler          driver   allowed  now on   rate  most on
                                                         /s
       26  ttyS0            IO-APIC  0,1      1           0                  movable
       36  virtio1-req.0    virtio…  0,1      1       1,204                  managed
       38  virtio2-input.0  virtio…  0,1      0,1       112  0 89 %, 1 11 %  movable

    managed: only the kernel places the queues of this device.

    Each cpu's own interrupts (its timer, calls from other cpus) cannot be moved and
    are not listed; `corewise survey` counts them.
    Next, to see what would move to keep cpu 0 free of them:
      corewise irq --away-from 0 --dry-run
    ");
}

#[test]
fn a_server_with_queues_for_every_cpu_has_a_few_rows() {
    insta::assert_snapshot!(shown(&server(), 80), @r"
    Device interrupts, counted for 10.0 s

          irq  handler                    driver   allowed   now on    rate
                                                                         /s
            0  timer                      IR-IO-…  0-127     0            0  fixed
           16  i801_smbus, ehci_hcd:usb1  IR-IO-…  0-127     3            0  movable
           24  nvme0q0                    nvme     0-127     0            0  movable
       25-152  nvme0q1-128                nvme     1 each:…  1 eac…   1,280  managed
      160-223  eth0-TxRx-0-63             ixgbe    0-127     1 eac…  50,189  movable

    managed: only the kernel places the queues of this device.
    fixed: its controller or its driver does not allow a move.

    Each cpu's own interrupts (its timer, calls from other cpus) cannot be moved and
    are not listed; `corewise survey` counts them.
    irqbalance (process 812) is running and may move interrupts.
    Next, to see what would move to keep cpu 6 free of them:
      corewise irq --away-from 6 --dry-run
    ");
    insta::assert_snapshot!(shown(&server(), 40), @r"
    Device interrupts, counted for 10.0 s

          irq  handler        now on    rate
                                          /s
            0  timer          0            0
           16  i801_smbus, …  3            0
           24  nvme0q0        0            0
       25-152  nvme0q1-128    1 eac…   1,280
      160-223  eth0-TxRx-0-…  1 eac…  50,189
      Hidden at this width: driver, allowed,
        whether it can be moved

    managed: only the kernel places the
      queues of this device.
    fixed: its controller or its driver does
      not allow a move.

    Each cpu's own interrupts (its timer,
    calls from other cpus) cannot be moved
    and are not listed; `corewise survey`
    counts them.
    irqbalance (process 812) is running and
      may move interrupts.
    Next, to see what would move to keep cpu
      6 free of them:
      corewise irq --away-from 6 --dry-run
    ");
}

/// Not counted, as in a recording; nothing is known of where they go.
#[test]
fn an_arm_board_recorded() {
    let mut timer = of_chip(11, "arch_timer", "GICv3", "0-3", "");
    timer.mobility = InterruptMobility::PerCpu;
    timer.counts = [(0, 51_000), (1, 49_000), (2, 40_000), (3, 30)]
        .map(|(cpu, since_boot)| CpuCount { cpu, since_boot, per_second: None })
        .into();
    let unread =
        DeviceInterrupt { mobility: InterruptMobility::Unknown, chip: None, ..of_chip(40, "mmc0", "", "", "") };
    let listing = InterruptListing {
        counted_s: None,
        costs: None,
        irqbalance: None,
        interrupts: vec![timer, unread],
        findings: Vec::new(),
    };
    insta::assert_snapshot!(shown(&listing, 80), @r"
    Device interrupts, counted since boot

      irq  handler     driver  allowed  now on    count  most on
       11  arch_timer  GICv3   0-3      0-2     140,030  0 36 %, 1 35 % …  per cpu
       40  mmc0        –       –        –             0                    unknown

    per cpu: each cpu has its own.
    unknown: its cpus cannot be read here.

    Each cpu's own interrupts (its timer, calls from other cpus) cannot be moved and
    are not listed; `corewise survey` counts them.
    ");
}

fn moved(interrupt: &DeviceInterrupt, to: &str, fate: MoveFate, now: &str) -> MoveReport {
    let planned = InterruptMove {
        number: interrupt.number,
        name: interrupt.joined_handlers(),
        from: interrupt.allowed.clone().unwrap(),
        to: list(to),
        reason: None,
    };
    MoveReport { planned, fate, effective: Some(list(now)).filter(|cpus| !cpus.is_empty()), why: None }
}

fn report(expression: &str, cpus: &str, moves: Vec<MoveReport>, staying: Vec<StayingInterrupt>) -> AwayReport {
    let (cpus, to_ban, left_out) = (list(cpus), list(cpus), vec![]);
    AwayReport {
        aim: MoveKind::AwayFrom,
        expression: expression.into(),
        device: None,
        near: None,
        command: format!("corewise irq --away-from {}", quote_word(expression)),
        cpus,
        left_out,
        to_ban,
        dry_run: false,
        moves,
        staying,
    }
}

fn away(listing: &InterruptListing, report: &AwayReport, width: usize) -> String {
    moves::draw_screen(listing, report, width).to_plain()
}

fn staying(number: u32, name: &str, cpus: &str, mobility: InterruptMobility) -> StayingInterrupt {
    StayingInterrupt { number, name: name.to_owned(), cpus: list(cpus), mobility }
}

#[test]
fn near_a_device_the_reason_and_the_doubt_are_shown() {
    let (listing, report) = every_fate();
    let near = corewise_machine::device::NearCpus {
        cpus: list("4-7"),
        reason: "node 1, as the system reports".into(),
        doubt: Some(
            "the reports contradict each other: node 1 (cpus 4-7), but local cpus 0-7; the node is used".into(),
        ),
        is_known: true,
    };
    let (device, command) = (Some("eth0".to_owned()), "corewise irq --near eth0".to_owned());
    let report = AwayReport {
        aim: MoveKind::Near,
        expression: "eth0".into(),
        cpus: list("4-7"),
        device,
        near: Some(near),
        command,
        ..report
    };
    let listing = InterruptListing { irqbalance: Some(812), ..listing };
    assert_snapshot!(away(&listing, &report, 80), @r"
    Interrupts of eth0 to cpus 4-7
      node 1, as the system reports; the reports contradict each other: node 1 (cpus
        4-7), but local cpus 0-7; the node is used
      60 left out: isolated

                  irq  handler          from    to               now on
                   24  nvme0q0          0-127   64-127  waits    0
      160-165,167-191  eth0-TxRx-0-5,…  0-127   64-127  moved    1 each: 64-69,71-95
                  166  eth0-TxRx-6      0-127   64-127  refused
                    0  timer            0       –       fixed
                25-88  nvme0q1-64       1 eac…  –       managed

    waits: it moves when it next occurs, because the controller is changed then.
    24: it had no other cpu: it gets those of its device's node 1.
    166: no interrupt vector is free on these cpus: allow more cpus, or reduce the
      devices' queues.
    managed: only the kernel places the queues of this device.
    fixed: its controller or its driver does not allow a move.

    32 interrupts moved until the next boot, 66 stay. To move them back:
      corewise undo
    irqbalance (process 812) is running and may move them back. To keep it from
      them, one option each:  irqbalance --banirq=24
    ");
}

/// Of the server's interrupts every fate.
fn every_fate() -> (InterruptListing, AwayReport) {
    let mut listing = server();
    let find = |name: &str| listing.interrupts.iter().find(|interrupt| interrupt.joined_handlers() == name).unwrap();
    let mut moves = vec![moved(find("nvme0q0"), "64-127", MoveFate::Waits, "0")];
    let queues = listing.interrupts.iter().filter(|interrupt| interrupt.driver.as_deref() == Some("ixgbe")).take(32);
    let to = |number: u32| (64 + number - 160).to_string();
    moves.extend(queues.map(|queue| moved(queue, "64-127", MoveFate::Moved, &to(queue.number))));
    moves[7].fate = MoveFate::Refused;
    moves[7].effective = None;
    moves[7].why =
        Some("no interrupt vector is free on these cpus: allow more cpus, or reduce the devices' queues".into());
    moves[0].planned.reason = Some("it had no other cpu: it gets those of its device's node 1".into());
    let stay = (0..64)
        .map(|cpu| staying(25 + cpu, &format!("nvme0q{}", cpu + 1), &cpu.to_string(), InterruptMobility::Managed));
    let mut stay: Vec<StayingInterrupt> = stay.collect();
    stay.insert(0, staying(0, "timer", "0", InterruptMobility::Fixed));
    let mut report = report("node:0 - 3", "0-2,4-63", moves, stay);
    report.to_ban.insert(60);
    report.to_ban.insert(99);
    report.left_out = vec![ExcludedCpus { reason: ExclusionReason::Isolated, cpus: list("60"), named: CpuSet::new() }];
    listing.counted_s = None;
    (listing, report)
}

#[test]
fn every_fate_is_told_with_the_way_back() {
    let (listing, report) = every_fate();
    insta::assert_snapshot!(away(&listing, &report, 80), @r"
    Interrupts away from cpus 0-2,4-63  (node:0 - 3)
      60 left out: isolated

                  irq  handler          from    to               now on
                   24  nvme0q0          0-127   64-127  waits    0
      160-165,167-191  eth0-TxRx-0-5,…  0-127   64-127  moved    1 each: 64-69,71-95
                  166  eth0-TxRx-6      0-127   64-127  refused
                    0  timer            0       –       fixed
                25-88  nvme0q1-64       1 eac…  –       managed

    waits: it moves when it next occurs, because the controller is changed then.
    24: it had no other cpu: it gets those of its device's node 1.
    166: no interrupt vector is free on these cpus: allow more cpus, or reduce the
      devices' queues.
    managed: only the kernel places the queues of this device.
    fixed: its controller or its driver does not allow a move.

    32 interrupts moved until the next boot, 66 stay. To move them back:
      corewise undo
    irqbalance (process 812) is running and may move them back. To keep it off these
      cpus:  systemctl edit irqbalance, with these lines:
        [Service]
        Environment=IRQBALANCE_BANNED_CPULIST=0-2,4-63,99
      or keep it from single interrupts, with one option each: irqbalance
        --banirq=24
    ");
    insta::assert_snapshot!(away(&listing, &report, 40), @r"
    Interrupts away from cpus 0-2,4-63
      (node:0 - 3)
      60 left out: isolated

             irq  handler    to
              24  nvme0q0    64-127  waits
      160-165,1…  eth0-TxR…  64-127  moved
             166  eth0-TxR…  64-127  refused
               0  timer      –       fixed
           25-88  nvme0q1-…  –       managed
      Hidden at this width: from, now on

    waits: it moves when it next occurs,
      because the controller is changed
      then.
    24: it had no other cpu: it gets those
      of its device's node 1.
    166: no interrupt vector is free on
      these cpus: allow more cpus, or reduce
      the devices' queues.
    managed: only the kernel places the
      queues of this device.
    fixed: its controller or its driver does
      not allow a move.

    32 interrupts moved until the next boot,
      66 stay. To move them back:
      corewise undo
    irqbalance (process 812) is running and
      may move them back. To keep it off
      these cpus:
      systemctl edit irqbalance, with these
      lines:
        [Service]
        Environment=IRQBALANCE_BANNED_CPULIS
          T=0-2,4-63,99
      or keep it from single interrupts,
        with one option each: irqbalance
        --banirq=24
    ");
}

#[test]
fn a_dry_run_says_what_it_would_do() {
    let (listing, mut report) = every_fate();
    (report.dry_run, report.left_out) = (true, vec![]);
    report.moves.truncate(3);
    report.staying.truncate(1);
    for moved in &mut report.moves {
        (moved.fate, moved.effective) = (MoveFate::WouldMove, None);
    }
    insta::assert_snapshot!(away(&listing, &report, 80), @r"
    Interrupts away from cpus 0-2,4-63  (node:0 - 3)

      irq  handler      from   to
       24  nvme0q0      0-127  64-127  would move
      160  eth0-TxRx-0  0-127  64-127  would move
      161  eth0-TxRx-1  0-127  64-127  would move
        0  timer        0      –       fixed

    24: it had no other cpu: it gets those of its device's node 1.
    fixed: its controller or its driver does not allow a move.

    3 interrupts would be moved, 1 stays; nothing was changed. Next:
      corewise irq --away-from 'node:0 - 3'
    irqbalance (process 812) is running and may move them back. To keep it off these
      cpus:  systemctl edit irqbalance, with these lines:
        [Service]
        Environment=IRQBALANCE_BANNED_CPULIST=0-2,4-63,99
      or keep it from single interrupts, with one option each: irqbalance
        --banirq=24
    ");
}

#[test]
fn nothing_to_move_is_said_so() {
    let text = away(&guest(), &report("0", "0", vec![], vec![]), 80);
    assert_eq!(text, "Interrupts away from cpu 0\n\nNothing to move: no device interrupt goes there.\n");
    let stay = vec![staying(36, "virtio1-req.0", "1", InterruptMobility::Managed)];
    insta::assert_snapshot!(away(&guest(), &report("last", "1", vec![], stay), 80), @r"
    Interrupts away from cpu 1  (last)

      irq  handler        from  to
       36  virtio1-req.0  1     –   managed

    managed: only the kernel places the queues of this device.

    None was moved, 1 stays.
    ");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let (listing, report) = every_fate();
    for width in [20, 30, 40, 57, 79, 80, 140] {
        for screen in
            [draw_screen(&server(), width), draw_screen(&guest(), width), moves::draw_screen(&listing, &report, width)]
        {
            assert!(screen.width() <= width, "{} columns at {width}:\n{}", screen.width(), screen.to_plain());
        }
    }
}

#[test]
fn no_device_is_named_so_that_it_steers_or_hides() {
    let (listing, report) = every_fate();
    for interrupts in hostile::copies(&listing.interrupts[..6].to_vec()) {
        let listing =
            InterruptListing { interrupts, counted_s: Some(1.0), costs: None, irqbalance: None, findings: Vec::new() };
        [40, 80, 140].into_iter().for_each(|width| hostile::check_screen(&draw_screen(&listing, width), width));
        hostile::check_json(&IrqDocument::new(&listing, None));
    }
    let staying = hostile::copies(&report.staying[..3].to_vec());
    for (staying, expression) in staying.into_iter().zip(hostile::names()) {
        let report = AwayReport { staying, expression, ..report.clone() };
        [40, 80]
            .into_iter()
            .for_each(|width| hostile::check_screen(&moves::draw_screen(&listing, &report, width), width));
    }
}
