//! Slots of running processes: equal placements under every load, true gains, and effects of one slot on the next.

use corewise_model::experiment::{Policy, Standing};
use corewise_model::simulate::{Load, World, slots};
use corewise_model::stats::order::median;
use corewise_model::trial::{Stretch, policy_of_slots};

use super::{Bounds, gains, is_no_difference, is_undecided, is_unsound, percent, repeat, repetitions, winner};

/// Maximum blocks of a session on two placements: 350 slots.
const MOST_BLOCKS: u32 = 175;
/// Blocks of a session that continues to look.
const BLOCKS_OF_LOOKING: u32 = 350;

const LOADS: [(&str, Load); 13] = [
    ("independent", Load::Independent),
    ("AR(1), 0.5", Load::Autoregressive(0.5)),
    ("AR(1), 0.9", Load::Autoregressive(0.9)),
    ("a day", Load::Day),
    ("steps", Load::Steps),
    ("memory 0.1 s", Load::Memory(0.1)),
    ("memory 1 s", Load::Memory(1.0)),
    ("memory 5 s", Load::Memory(5.0)),
    ("memory 20 s", Load::Memory(20.0)),
    ("memory 60 s", Load::Memory(60.0)),
    ("period of 0.5 slots", Load::Period(0.5)),
    ("period of 1 slot", Load::Period(1.0)),
    ("period of 2 slots", Load::Period(2.0)),
];

fn sessions(count: u64, world: &World, blocks: u32, stretch: Option<Stretch>) -> Vec<Standing> {
    let policy = if stretch.is_some() { Policy::default() } else { policy_of_slots(&Policy::default()) };
    repeat(count, |seed| slots(world, seed, &policy, blocks, stretch))
}

/// Prints the tables.
pub fn table(share: f64, bounds: &mut Bounds) {
    equal(share, bounds);
    found(share, bounds);
    left_behind(share, bounds);
}

fn equal(share: f64, bounds: &mut Bounds) {
    let count = repetitions(1000.0, share);
    println!(
        "\n## Slots, two equal placements, looked at after each of {BLOCKS_OF_LOOKING} blocks: {count} sessions each\n"
    );
    println!("| load | false win % | called worse or not better % | undecided % | unsound % |");
    println!("|---|--:|--:|--:|--:|");
    for (name, load) in LOADS {
        let standings = sessions(count, &World::of(load, 0.0), BLOCKS_OF_LOOKING, None);
        let wins = percent(&standings, |standing| winner(standing).is_some());
        println!(
            "| {name} | {wins:.1} | {:.1} | {:.1} | {:.1} |",
            percent(&standings, is_no_difference),
            percent(&standings, is_undecided),
            percent(&standings, is_unsound)
        );
        bounds.at_most(&format!("false winners in slots, load {name}"), wins, 5.0);
        bounds.at_most(&format!("unsound slots, load {name}"), percent(&standings, is_unsound), 5.0);
    }
}

fn found(share: f64, bounds: &mut Bounds) {
    let count = repetitions(1000.0, share);
    println!("\n## Slots, +5 % at 10 % of noise: {count} sessions of at most {} slots\n", 2 * MOST_BLOCKS);
    println!("| load | found % | slots, median | estimate, mean % |");
    println!("|---|--:|--:|--:|");
    let gain = gains(&[5.0])[0];
    for (name, load) in LOADS {
        let standings = sessions(count, &World::of(load, gain), MOST_BLOCKS, None);
        let wins = percent(&standings, |standing| winner(standing).is_some());
        let slots: Vec<f64> = standings
            .iter()
            .map(|standing| if winner(standing).is_some() { f64::from(standing.runs) } else { f64::INFINITY })
            .collect();
        let estimates = standings.iter().filter_map(|standing| standing.arms[1].effect).map(|effect| effect.estimate);
        let mean = 100.0 * (estimates.sum::<f64>() / standings.len() as f64).exp_m1();
        println!("| {name} | {wins:.1} | {:.0} | {mean:.1} |", median(&slots));
        if load == Load::Independent {
            bounds.at_least("found in slots, +5 % at 10 % of noise", wins, 90.0);
            bounds.at_most("median of slots, +5 % at 10 % of noise", median(&slots), 180.0);
        }
    }
}

/// Truth about a placement that is always in force.
enum Truth {
    Better,
    Equal,
    Worse,
    /// It is worse, but even long slots are too short to show it.
    TooSlowToSee,
}

/// Simulates worlds in which a slot affects the next: the share called better, and the share left when a winner is confirmed in long slots.
fn left_behind(share: f64, bounds: &mut Bounds) {
    let count = repetitions(400.0, share);
    let world = |gain: f64| World { size: 0.02, ..World::of(Load::Memory(5.0), gains(&[gain])[0]) };
    let worlds = [
        ("+3 %, then 5 % of heat in 2 s: -2 %", World { heat: (0.05, 2.0), ..world(3.0) }, Truth::Worse),
        ("+5 %, then 8 % of heat in 10 s: -3 %", World { heat: (0.08, 10.0), ..world(5.0) }, Truth::TooSlowToSee),
        ("equal, 10 % worse after it", World { carry_over: 0.1, ..world(0.0) }, Truth::Equal),
        ("equal, 5 % worse after it", World { carry_over: 0.05, ..world(0.0) }, Truth::Equal),
        ("+5 %, kept by the OS for 1 s", World { sticks: 1.0, ..world(5.0) }, Truth::Better),
        ("+5 %, nothing left behind", world(5.0), Truth::Better),
    ];
    println!("\n## Slots that do something to the next, 2 % of noise: {count} sessions each\n");
    println!("| what is true | wins % | unsound % | not better % | confirmed % | not better when confirmed % |");
    println!("|---|--:|--:|--:|--:|--:|");
    for (name, world, truth) in worlds {
        let standings = sessions(count, &world, BLOCKS_OF_LOOKING, None);
        let stretch = Stretch::of_runs(world.slot.0, None);
        let confirmations = sessions(count, &world, 60, Some(stretch));
        let both: Vec<(Standing, Standing)> = standings.into_iter().zip(confirmations).collect();
        let of = |holds: &dyn Fn(&Standing, &Standing) -> bool| percent(&both, |(first, again)| holds(first, again));
        let confirmed = of(&|first, again| winner(first).is_some() && winner(again).is_some());
        let denied = of(&|_, again| is_no_difference(again));
        println!(
            "| {name} | {:.1} | {:.1} | {:.1} | {confirmed:.1} | {denied:.1} |",
            of(&|first, _| winner(first).is_some()),
            of(&|first, _| is_unsound(first)),
            of(&|first, _| is_no_difference(first)),
        );
        match truth {
            Truth::Better => bounds.at_most(&format!("denied in long slots: {name}"), denied, 5.0),
            Truth::Worse => bounds.at_most(&format!("confirmed in long slots: {name}"), confirmed, 20.0),
            Truth::Equal => {
                bounds.at_most(&format!("unflagged wins: {name}"), of(&|first, _| winner(first).is_some()), 5.0);
            }
            Truth::TooSlowToSee => {}
        }
    }
}
