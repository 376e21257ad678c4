//! Screens and keys, without a terminal.

use std::time::Duration;

use corewise_machine::{CpuSet, Machine};
use corewise_model::watch::{
    CpuNow, CpuShares, CpuStruck, PreemptingThread, SourceNow, ThreadNow, ThreadSight, WatchFrame, WatchHeader,
};

use super::keys::{KeyEffect, PressedKey};
use super::process_list::ProcessList;
use super::row::WatchRow;
use super::screen::{draw_lines, draw_whole};
use super::view::{BottomLine, WatchView};
use crate::app::tenants::CpuTenant;
use crate::draw::fixtures::hostile;
use crate::draw::text::{StyledLine, TextScreen};
use crate::draw::{fixtures::fabricated, text};

fn frame(machine: &Machine, threads: u32) -> WatchFrame {
    let shares = |cpu: u32| CpuShares {
        busy: if cpu == 3 { 0.5 } else { 0.0 },
        host: 0.125,
        worth: 0.75,
        ..CpuShares::default()
    };
    let cpu = |cpu: u32| CpuNow {
        cpu,
        shares: Some(shares(cpu)),
        interrupts_per_s: Some(120.0),
        rules: if cpu < 8 { vec!["redis".to_owned()] } else { Vec::new() },
        ..CpuNow::default()
    };
    let thread = |index: u32| ThreadNow {
        process: 4711,
        thread: 4711 + index,
        name: format!("io-{index}"),
        cpu: index % 8,
        running: Some(0.25),
        waiting: Some(index as f32 / 100.0),
        moves_per_s: Some(2.0),
        preempted_by: vec![PreemptingThread { task: 9, name: "kworker/3:1".into(), times: 4, is_own: false }],
        allowed: Some(CpuSet::first_cpus(8)),
        rule: Some("redis".into()),
        inside: Some(index != 1),
        is_own: index == 2,
        ..ThreadNow::default()
    };
    let source = SourceNow {
        source: "36 eth0".into(),
        per_second: 120.0,
        cpus: vec![CpuStruck { cpu: 3, per_second: 90.0 }, CpuStruck { cpu: 1, per_second: 30.0 }],
        others: 0,
    };
    WatchFrame {
        elapsed_s: 0.5,
        sight: ThreadSight::Events { source: "perf".into(), switches_per_s: 1_200.0, lost: 0 },
        cpus: machine.online.iter().map(cpu).collect(),
        threads: (0..threads).map(thread).collect(),
        interrupts: vec![source],
        ..WatchFrame::default()
    }
}

fn view_of(machine: Machine, threads: u32) -> WatchView {
    let first = frame(&machine, threads);
    let header = WatchHeader::new("0.1.0", machine, "Speeds: measured.", Some("redis-server 4711".into()), 0.5);
    let mut view = WatchView::new(header);
    view.add_frame(first);
    view
}

fn view() -> WatchView {
    view_of(fabricated::ryzen_9950x3d(), 4)
}

/// The screen as text.
fn shown(view: &mut WatchView, width: usize, height: usize) -> Vec<String> {
    draw_lines(view, width, height).0.iter().map(StyledLine::to_plain).collect()
}

/// The text of the selected line.
fn selected(view: &mut WatchView) -> String {
    let (lines, selected) = draw_lines(view, 100, 24);
    lines[selected.unwrap()].to_plain()
}

fn press(view: &mut WatchView, keys: &str) {
    for key in keys.chars() {
        let key = if key == '\n' { PressedKey::Enter } else { PressedKey::Character(key) };
        assert_eq!(view.press_key(key), KeyEffect::Draw, "{key:?}");
    }
}

#[test]
fn a_screen_shows_the_machine_the_program_and_interrupts() {
    let screen = shown(&mut view(), 120, 24);
    let line = |text: &str| {
        screen.iter().find(|line| line.contains(text)).unwrap_or_else(|| panic!("{text}: {screen:#?}")).clone()
    };
    assert!(screen[0].contains("32 cpus · 0.5 busy · 120 interrupts/s"), "{screen:#?}");
    assert!(
        screen[1].starts_with("redis-server 4711  4 threads, 8.0 moves/s · by perf, 1,200 switches/s"),
        "{screen:#?}"
    );
    let llc = line("llc:0 V-Cache");
    assert!(llc.contains("+ llc:0") && llc.contains("redis") && llc.contains("▕"), "folded, with its rule: {llc}");
    assert!(!line("llc:1").contains("redis"));
    assert!(line("io-0").contains("redis inside") && line("io-1").contains("redis outside"));
    assert!(line("io-2").starts_with("* io-2"), "its own threads are marked");
    assert!(line("io-0").contains("kworker/3:1 4x"));
    assert!(line("36 eth0").contains("120  3 (75 %), 1 (25 %)"));
    assert!(screen[23].contains("q quit") && screen[23].contains("sort: start"));
}

#[test]
fn masks_are_shown_by_thread_if_they_differ() {
    let mut view = view();
    let is_there = |view: &mut WatchView| shown(view, 120, 24).iter().any(|line| line.contains("may use"));
    assert!(!is_there(&mut view), "all threads may use the same cpus");
    let mut pinned = view.frame.clone();
    pinned.threads[1].allowed = Some(CpuSet::from_cpu(17));
    view.add_frame(pinned);
    let screen = shown(&mut view, 120, 24);
    let line = |name: &str| screen.iter().find(|line| line.contains(name)).unwrap();
    assert!(line("io-1").contains(" 17 ") && line("io-0").contains("0-7"), "{screen:#?}");
}

#[test]
fn what_was_not_seen_twice_is_not_known() {
    let mut view = view();
    let mut first = view.frame.clone();
    first.cpus.iter_mut().for_each(|cpu| (cpu.shares, cpu.interrupts_per_s) = (None, None));
    first
        .threads
        .iter_mut()
        .for_each(|thread| (thread.running, thread.waiting, thread.moves_per_s) = (None, None, None));
    first.sight = ThreadSight::Sampling { why: "events are refused".into() };
    view.add_frame(first);
    let screen = shown(&mut view, 120, 24);
    assert!(screen[1].contains("by sampling: events are refused"), "{screen:#?}");
    let cpus = screen.iter().find(|line| line.contains("llc:1")).unwrap();
    assert!(!cpus.contains('0') || cpus.contains('–'), "{cpus}");
    assert!(screen.iter().any(|line| line.contains("io-0") && line.contains('–')));
}

#[test]
fn every_size_takes_it_and_no_name_steers_the_screen() {
    let check = |view: &mut WatchView, width: usize, height: usize| {
        let (drawn, selected) = draw_lines(view, width, height);
        assert_eq!(drawn.len(), height.max(1), "{width} x {height}");
        assert!(selected.is_none_or(|line| line < drawn.len()));
        let mut screen = TextScreen::new();
        drawn.into_iter().for_each(|line: text::StyledLine| screen.push(line));
        hostile::check_screen(&screen, width);
    };
    let mut usual = view();
    for width in [20, 40, 60, 80, 100, 200] {
        for height in [1, 2, 3, 5, 24, 60] {
            check(&mut usual, width, height);
        }
        hostile::check_screen(&draw_whole(&mut usual, width), width);
    }
    for hostile in hostile::copies(&usual.frame) {
        usual.add_frame(hostile);
        check(&mut usual, 80, 24);
    }
    for header in hostile::copies(&usual.header) {
        let mut view = WatchView::new(header);
        view.add_frame(usual.frame.clone());
        press(&mut view, "e");
        check(&mut view, 80, 24);
    }
}

#[test]
fn five_hundred_cpus_are_folded_to_one_screen_and_a_key_unfolds_them() {
    let machine = corewise_machine::generate::one_package_machine(
        512,
        false,
        &(0..64)
            .map(|llc| (CpuSet::parse_list(&format!("{}-{}", llc * 8, llc * 8 + 7)).unwrap(), 32))
            .collect::<Vec<_>>(),
    );
    let mut view = view_of(machine, 500);
    let screen = shown(&mut view, 80, 24);
    assert!(
        screen.iter().any(|line| line.starts_with("INTERRUPTS"))
            || screen.iter().any(|line| line.starts_with("THREADS")),
        "{screen:#?}"
    );
    press(&mut view, "/cpu 511\n");
    assert!(selected(&mut view).contains("cpu 511"), "{}", selected(&mut view));
    press(&mut view, "e");
    assert!(shown(&mut view, 80, 24)[23].contains("corewise tail --explain --cpus 511"));
    press(&mut view, "*");
    let rows = view.list_rows().iter().filter(|row| matches!(row, WatchRow::Node(..))).count();
    let _ = shown(&mut view, 80, 24);
    assert!(view.list_rows().iter().filter(|row| matches!(row, WatchRow::Node(..))).count() < rows, "folded again");
}

#[test]
fn the_legend_of_bars_stays() {
    let large = corewise_machine::generate::one_package_machine(512, true, &[(CpuSet::first_cpus(512), 32)]);
    for machine in [fabricated::ryzen_9950x3d(), large] {
        let mut view = view_of(machine, 4);
        let legend = |view: &mut WatchView, width| {
            let screen = shown(view, width, 24);
            screen[2].clone()
        };
        let long = legend(&mut view, 140);
        assert!(long.starts_with("CPUS") && long.ends_with("load: █ programs ▒ interrupts ░ host"), "{long}");
        let short = legend(&mut view, 80);
        assert!(short.starts_with("CPUS") && short.ends_with("█prog ▒irq ░host"), "{short}");
        assert!(legend(&mut view, 40).ends_with("load (?)"));
        press(&mut view, "?");
        assert!(shown(&mut view, 80, 24).iter().any(|line| line.contains("█ programs ▒ interrupts ░ host")));
        press(&mut view, "?");
        // It stays while the cpus are scrolled; the selected row is never behind it.
        press(&mut view, "*/cpu 15\n");
        assert!(selected(&mut view).contains("cpu 15"));
        let scrolled = shown(&mut view, 80, 8)[2].clone();
        assert!(view.first > 0 && scrolled == short, "{scrolled}");
        (0..200).for_each(|_| {
            press(&mut view, "k");
            assert!(draw_lines(&mut view, 80, 8).1.is_some());
        });
    }
}

#[test]
fn a_process_is_chosen_from_a_list() {
    let tenant = |process: u32, ran_ms: f64| CpuTenant {
        process,
        name: format!("server-{process}"),
        is_kernel: process == 2,
        threads: 3,
        cpus: CpuSet::first_cpus(32),
        seen_on: CpuSet::parse_list("3-5").unwrap(),
        ran_ms,
    };
    let mut view = view();
    view.header.program = None;
    assert!(shown(&mut view, 80, 24)[1].contains("p lists the processes"));
    assert!(shown(&mut view, 80, 24)[23].contains("p processes"), "{:?}", shown(&mut view, 80, 24)[23]);
    assert_eq!(view.press_key(PressedKey::Character('p')), KeyEffect::ListProcesses);
    let tenants = (2..60).map(|process| tenant(process, 90.0)).collect();
    view.list = Some(ProcessList::new(tenants, Duration::from_millis(300)));
    let screen = shown(&mut view, 80, 24);
    assert_eq!(
        screen[..3].iter().map(|line| line.trim_end()).collect::<Vec<_>>(),
        [
            "Choose a process  most cpu time first",
            "name       pid  threads  cpu%  where it ran",
            "server-3     3        3    30  3-5",
        ]
    );
    assert!(!screen.iter().any(|line| line.contains("server-2 ")), "a thread of the kernel");
    press(&mut view, "jj");
    assert!(selected(&mut view).starts_with("server-5 "));
    assert_eq!(view.press_key(PressedKey::Character('p')), KeyEffect::ListProcesses);
    press(&mut view, "G");
    assert!(selected(&mut view).starts_with("server-59 "));
    for (width, height) in [(20, 1), (20, 3), (40, 5), (200, 60)] {
        let (lines, selected) = draw_lines(&mut view, width, height);
        assert!(lines.len() == height && lines.iter().all(|line| line.width() <= width));
        assert!(selected.is_none_or(|line| line < height));
    }
    assert_eq!(view.press_key(PressedKey::Enter), KeyEffect::Follow(59));
    view.follow_program("server-59 59".to_owned());
    assert!(shown(&mut view, 80, 24)[1].starts_with("server-59 59"));
    view.list = Some(ProcessList::new(vec![tenant(7, 0.0)], Duration::from_millis(300)));
    assert_eq!(view.press_key(PressedKey::Escape), KeyEffect::Draw);
    assert!(view.list.is_none());
    for refuse in [
        |view: &mut WatchView| view.owns_program = true,
        |view: &mut WatchView| view.is_recorded = true,
        |view: &mut WatchView| view.place = Some((1, 2)),
    ] {
        let mut view = self::view();
        refuse(&mut view);
        press(&mut view, "p");
        assert!(matches!(view.bottom, BottomLine::Message(_)), "it could not go on with another program");
    }
}

#[test]
fn arrows_fold_and_unfold() {
    let mut view = view();
    let _ = shown(&mut view, 100, 24);
    press(&mut view, "jjj");
    assert!(selected(&mut view).contains("llc:1"), "{}", selected(&mut view));
    let count = |view: &WatchView| view.list_rows().len();
    let folded = count(&view);
    assert_eq!(view.press_key(PressedKey::Right), KeyEffect::Draw);
    assert_eq!(count(&view), folded + 8);
    press(&mut view, "j");
    assert!(selected(&mut view).contains("core:8"));
    assert_eq!(view.press_key(PressedKey::Enter), KeyEffect::Draw);
    assert_eq!(count(&view), folded + 10);
    press(&mut view, "j");
    assert!(selected(&mut view).contains("cpu 8"));
    press(&mut view, "--");
    assert!(selected(&mut view).contains("llc:1"), "{}", selected(&mut view));
    assert_eq!(count(&view), folded);
    assert_eq!(view.press_key(PressedKey::Tab), KeyEffect::Draw);
    assert!(selected(&mut view).starts_with("THREADS"));
    press(&mut view, "G");
    assert!(selected(&mut view).contains("36 eth0"));
    press(&mut view, "g");
    assert!(selected(&mut view).starts_with("CPUS"));
}

#[test]
fn find_sort_freeze_and_examine() {
    let mut view = view();
    press(&mut view, "/IO-3\n");
    assert!(selected(&mut view).contains("io-3"));
    press(&mut view, "e");
    assert_eq!(view.bottom, BottomLine::Message("corewise keep why 4711".to_owned()), "a rule holds it");
    press(&mut view, "/nothing\n");
    assert_eq!(view.bottom, BottomLine::Message("\"nothing\" is not found".to_owned()));
    press(&mut view, "/e");
    assert_eq!(view.press_key(PressedKey::Escape), KeyEffect::Draw);
    assert_eq!(view.bottom, BottomLine::Keys);
    press(&mut view, "ss");
    let screen = shown(&mut view, 100, 24);
    let place = |name: &str| screen.iter().position(|line| line.contains(name)).unwrap();
    assert!(place("io-3") < place("io-0") && screen[23].contains("sort: waiting"), "{screen:#?}");
    press(&mut view, " ");
    view.add_frame(WatchFrame::default());
    assert_eq!(view.frame.threads.len(), 4, "it stays");
    assert!(shown(&mut view, 100, 24)[0].contains("frozen"));
    press(&mut view, " ");
    view.add_frame(WatchFrame::default());
    assert!(view.frame.threads.is_empty());
    press(&mut view, "?");
    assert!(shown(&mut view, 100, 24)[0].contains("Keys"));
    press(&mut view, "q");
    assert!(!view.is_help, "any key goes on");
}

#[test]
fn a_command_of_ours_is_not_left_behind_unasked() {
    let mut view = view();
    assert_eq!(view.press_key(PressedKey::Character('q')), KeyEffect::Quit);
    view.owns_program = true;
    for (key, effect) in [('q', KeyEffect::EndProgram), ('d', KeyEffect::Quit), ('x', KeyEffect::Draw)] {
        assert_eq!(view.press_key(PressedKey::Character('q')), KeyEffect::Draw);
        assert!(shown(&mut view, 80, 24)[23].contains("The command runs"));
        assert_eq!(view.press_key(PressedKey::Character(key)), effect);
    }
    assert_eq!(view.press_key(PressedKey::Interrupt), KeyEffect::Draw);
    assert_eq!(view.press_key(PressedKey::Interrupt), KeyEffect::EndProgram);
}

#[test]
fn a_recording_is_shown_moment_by_moment() {
    let mut view = view();
    let frames: Vec<WatchFrame> = (0..3)
        .map(|index| {
            let mut frame = view.frame.clone();
            frame.threads[0].cpu = index;
            frame
        })
        .collect();
    view.begin_trails();
    (0..3).for_each(|index| view.show_frame(frames[index].clone(), (index + 1, 3)));
    let screen = shown(&mut view, 100, 24);
    assert!(screen[0].contains("moment 3 of 3") && screen[23].contains(", . step"), "{screen:#?}");
    assert!(screen.iter().any(|line| line.contains("io-0") && line.ends_with("0›1›2")), "{screen:#?}");
    assert_eq!(
        [view.press_key(PressedKey::Character('.')), view.press_key(PressedKey::Character(','))],
        [KeyEffect::Step(1), KeyEffect::Step(-1)]
    );
}
