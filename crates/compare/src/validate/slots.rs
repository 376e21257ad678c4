//! Slots of running processes: equal placements under every load, true gains, and effects of one slot on the next.

use corewise_model::simulate::{SimulatedLoad, SlotsWorld, simulate_slots};
use corewise_model::trial::{ConfirmationStretch, StretchLength, policy_of_slots};
use corewise_statistics::experiment::{ExpectedNoise, ExperimentStanding, JudgingPolicy};
use corewise_statistics::order::median;
use corewise_statistics::simulate::CarryOverVictims;

use super::{
    ErrorBounds, count_repetitions, find_winner, is_no_difference, is_undecided, is_unsound, log_gains, percent_of,
    repeat_simulation,
};

/// Maximum blocks of a session on two placements: 350 slots.
const MOST_BLOCKS: u32 = 175;
/// Blocks of a session that continues to look.
const BLOCKS_OF_LOOKING: u32 = 350;

const LOADS: [(&str, SimulatedLoad); 13] = [
    ("independent", SimulatedLoad::Independent),
    ("AR(1), 0.5", SimulatedLoad::Autoregressive(0.5)),
    ("AR(1), 0.9", SimulatedLoad::Autoregressive(0.9)),
    ("a day", SimulatedLoad::Day),
    ("steps", SimulatedLoad::Steps),
    ("memory 0.1 s", SimulatedLoad::Memory(0.1)),
    ("memory 1 s", SimulatedLoad::Memory(1.0)),
    ("memory 5 s", SimulatedLoad::Memory(5.0)),
    ("memory 20 s", SimulatedLoad::Memory(20.0)),
    ("memory 60 s", SimulatedLoad::Memory(60.0)),
    ("period of 0.5 slots", SimulatedLoad::Period(0.5)),
    ("period of 1 slot", SimulatedLoad::Period(1.0)),
    ("period of 2 slots", SimulatedLoad::Period(2.0)),
];

fn simulate_sessions(
    count: u64,
    world: &SlotsWorld,
    blocks: u32,
    stretch: Option<ConfirmationStretch>,
) -> Vec<ExperimentStanding> {
    let policy = if stretch.is_some() { JudgingPolicy::default() } else { policy_of_slots(&JudgingPolicy::default()) };
    simulate_with_policy(count, world, blocks, stretch, &policy)
}

fn simulate_with_policy(
    count: u64,
    world: &SlotsWorld,
    blocks: u32,
    stretch: Option<ConfirmationStretch>,
    policy: &JudgingPolicy,
) -> Vec<ExperimentStanding> {
    repeat_simulation(count, |seed| simulate_slots(world, seed, policy, blocks, stretch))
}

/// Prints the tables.
pub fn print_tables(share: f64, bounds: &mut ErrorBounds) {
    print_equal(share, bounds);
    print_found(share, bounds);
    left_behind(share, bounds);
}

fn print_equal(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(1000.0, share);
    println!(
        "\n## Slots, two equal placements, looked at after each of {BLOCKS_OF_LOOKING} blocks: {count} sessions each\n"
    );
    println!("| load | false win % | called worse or not better % | undecided % | unsound % |");
    println!("|---|--:|--:|--:|--:|");
    for (name, load) in LOADS {
        let standings = simulate_sessions(count, &SlotsWorld::with_load(load, 0.0), BLOCKS_OF_LOOKING, None);
        let wins = percent_of(&standings, |standing| find_winner(standing).is_some());
        println!(
            "| {name} | {wins:.1} | {:.1} | {:.1} | {:.1} |",
            percent_of(&standings, is_no_difference),
            percent_of(&standings, is_undecided),
            percent_of(&standings, is_unsound)
        );
        bounds.at_most(&format!("false winners in slots, load {name}"), wins, 5.0);
        bounds.at_most(&format!("unsound slots, load {name}"), percent_of(&standings, is_unsound), 5.0);
    }
}

fn print_found(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(1000.0, share);
    println!("\n## Slots, +5 % at 10 % of noise: {count} sessions of at most {} slots\n", 2 * MOST_BLOCKS);
    println!("| load | found % | slots, median | estimate, mean % |");
    println!("|---|--:|--:|--:|");
    let gain = log_gains(&[5.0])[0];
    for (name, load) in LOADS {
        let standings = simulate_sessions(count, &SlotsWorld::with_load(load, gain), MOST_BLOCKS, None);
        let (wins, median) = print_found_row(name, &standings);
        if load == SimulatedLoad::Independent {
            bounds.at_least("found in slots, +5 % at 10 % of noise", wins, 90.0);
            bounds.at_most("median of slots, +5 % at 10 % of noise", median, 180.0);
        }
    }
    let world = SlotsWorld::with_load(SimulatedLoad::Independent, gain);
    let expected_noise = ExpectedNoise { gain_deviation: world.size * 2.0_f64.sqrt(), experiment: None };
    let later = JudgingPolicy { expected_noise: Some(expected_noise), ..policy_of_slots(&JudgingPolicy::default()) };
    let standings = simulate_with_policy(count, &world, MOST_BLOCKS, None, &later);
    let (wins, _) = print_found_row("independent, later session", &standings);
    bounds.at_least("found in slots of a later session, +5 % at 10 % of noise", wins, 90.0);
}

/// Prints a row; returns the percentage of sessions that win, and the median of their slots.
fn print_found_row(name: &str, standings: &[ExperimentStanding]) -> (f64, f64) {
    let wins = percent_of(standings, |standing| find_winner(standing).is_some());
    let slots: Vec<f64> = standings
        .iter()
        .map(|standing| if find_winner(standing).is_some() { f64::from(standing.runs) } else { f64::INFINITY })
        .collect();
    let estimates = standings.iter().filter_map(|standing| standing.arms[1].effect).map(|effect| effect.estimate);
    let mean = 100.0 * (estimates.sum::<f64>() / standings.len() as f64).exp_m1();
    println!("| {name} | {wins:.1} | {:.0} | {mean:.1} |", median(&slots));
    (wins, median(&slots))
}

/// Truth about a placement that is always in force.
enum PlacementTruth {
    Better,
    Equal,
    Worse,
    /// It is worse, but even long slots are too short to show it.
    TooSlowToSee,
}

/// Simulates worlds in which a slot affects the next: the share called better, and the share left when a winner is confirmed in long slots.
fn left_behind(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(400.0, share);
    let world = |gain: f64| SlotsWorld {
        size: 0.02,
        ..SlotsWorld::with_load(SimulatedLoad::Memory(5.0), log_gains(&[gain])[0])
    };
    let one_sided = SlotsWorld { carry_over: 0.05, carry_over_hits: CarryOverVictims::Baseline, ..world(0.0) };
    let worlds = [
        ("+3 %, then 5 % of heat in 2 s: -2 %", SlotsWorld { heat: (0.05, 2.0), ..world(3.0) }, PlacementTruth::Worse),
        (
            "+5 %, then 8 % of heat in 10 s: -3 %",
            SlotsWorld { heat: (0.08, 10.0), ..world(5.0) },
            PlacementTruth::TooSlowToSee,
        ),
        ("equal, 10 % worse after it", SlotsWorld { carry_over: 0.1, ..world(0.0) }, PlacementTruth::Equal),
        ("equal, 5 % worse after it", SlotsWorld { carry_over: 0.05, ..world(0.0) }, PlacementTruth::Equal),
        ("equal, the OS default 5 % worse after it", one_sided, PlacementTruth::Equal),
        ("+5 %, kept by the OS for 1 s", SlotsWorld { sticks: 1.0, ..world(5.0) }, PlacementTruth::Better),
        ("+5 %, nothing left behind", world(5.0), PlacementTruth::Better),
    ];
    println!("\n## Slots that do something to the next, 2 % of noise: {count} sessions each\n");
    println!(
        "| what is true | wins % | unsound % | not better % | pinned in the end % | confirmed in long slots % | \
         not better in long slots % |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for (name, world, truth) in worlds {
        let standings = simulate_sessions(count, &world, BLOCKS_OF_LOOKING, None);
        let confirm = |length: StretchLength| {
            simulate_sessions(count, &world, 60, Some(ConfirmationStretch::of_runs(length, world.slot.0)))
        };
        let confirmations = confirm(StretchLength::Long);
        let pinned = standings.iter().zip(confirm(StretchLength::Short)).collect::<Vec<_>>();
        let pinned = percent_of(&pinned, |(first, again)| {
            find_winner(first).is_some() && (first.open_points.is_empty() || find_winner(again).is_some())
        });
        let both: Vec<(ExperimentStanding, ExperimentStanding)> = standings.into_iter().zip(confirmations).collect();
        let of = |holds: &dyn Fn(&ExperimentStanding, &ExperimentStanding) -> bool| {
            percent_of(&both, |(first, again)| holds(first, again))
        };
        let confirmed = of(&|first, again| find_winner(first).is_some() && find_winner(again).is_some());
        let denied = of(&|_, again| is_no_difference(again));
        println!(
            "| {name} | {:.1} | {:.1} | {:.1} | {pinned:.1} | {confirmed:.1} | {denied:.1} |",
            of(&|first, _| find_winner(first).is_some()),
            of(&|first, _| is_unsound(first)),
            of(&|first, _| is_no_difference(first)),
        );
        match truth {
            PlacementTruth::Better => bounds.at_most(&format!("denied in long slots: {name}"), denied, 5.0),
            PlacementTruth::Worse => bounds.at_most(&format!("confirmed in long slots: {name}"), confirmed, 20.0),
            PlacementTruth::Equal => bounds.at_most(&format!("falsely pinned: {name}"), pinned, 5.0),
            PlacementTruth::TooSlowToSee => {}
        }
    }
}
