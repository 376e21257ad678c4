use corewise_model::fleet::VisitPolicy;
use corewise_model::fleet::conclude::FleetConclusions;
use corewise_model::simulate::{FleetWorld, SimulatedFleet};
use std::time::Instant;

fn row(name: &str, world: FleetWorld, count: u64) {
    let policy = VisitPolicy::default();
    let t = Instant::now();
    let (mut fdr, mut power, mut any, mut listed, mut cost, mut slow, mut nl, mut np, mut nf) =
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
    let mut truly = 0.0;
    for seed in 0..count {
        let mut made = SimulatedFleet::new(world, seed);
        made.visit_all(&policy);
        let found = FleetConclusions::new(&made.fleet);
        let margin = -0.02_f64.ln_1p();
        let wrong = found.slow.iter().filter(|n| made.truths[**n] > margin).count() as f64;
        let right = found.slow.iter().filter(|n| made.truths[**n] <= -0.05_f64.ln_1p()).count() as f64;
        let all = made.truths.iter().filter(|t| **t <= -0.05_f64.ln_1p() && **t < 0.0).count() as f64;
        fdr += wrong / (found.slow.len().max(1) as f64);
        if all > 0.0 {
            power += right / all;
            truly += 1.0;
        }
        any += f64::from(u8::from(!found.slow.is_empty()));
        listed += found.slow.len() as f64;
        slow += all;
        nl += found.noisy.len() as f64;
        let nw = found.noisy.iter().filter(|n| !made.noisy[**n]).count() as f64;
        nf += nw / (found.noisy.len().max(1) as f64);
        let nall = made.noisy.iter().filter(|t| **t).count() as f64;
        np += (found.noisy.len() as f64 - nw) / nall.max(1.0);
        cost += made.visits_per_node();
    }
    let c = count as f64;
    println!(
        "{name:44} FDR {:.4} power {:.3} any {:.3} listed {:.1}/{:.1} visits {:.2} | noisy {:.1} power {:.3} fdr {:.3}  ({:.1} s)",
        fdr / c,
        power / truly,
        any / c,
        listed / c,
        slow / c,
        cost / c,
        nl / c,
        np / c,
        nf / c,
        t.elapsed().as_secs_f64()
    );
}

fn main() {
    let n: u64 = std::env::args().nth(1).map_or(20, |a| a.parse().unwrap());
    let d = FleetWorld::default();
    for q in [1, 8] {
        for noise in [0.01, 0.02, 0.03] {
            row(&format!("noise {noise} spikes q {q}"), FleetWorld { noise, quantities: q, ..d }, n);
            row(&format!("noise {noise} even q {q}"), FleetWorld { noise, slow: 0.0, quantities: q, ..d }, n);
        }
    }
    row("no spikes", FleetWorld { spikes: 0.0, ..d }, n);
    row("noisy 2 %", FleetWorld { noisy: 0.02, ..d }, n);
    row("noisy 2 % even 1 %", FleetWorld { noisy: 0.02, noise: 0.01, slow: 0.0, ..d }, n);
    row("tau 1 % even", FleetWorld { spread: 0.01, slow: 0.0, noise: 0.01, ..d }, n);
    row("tau 1 %", FleetWorld { spread: 0.01, ..d }, n);
    for nodes in [8, 12, 16, 24, 30, 50, 70, 100, 200] {
        let w = FleetWorld { nodes, models: 1, rack: 1000, ..d };
        row(&format!("{nodes} nodes"), w, 10 * n);
        row(&format!("{nodes} nodes even"), FleetWorld { slow: 0.0, ..w }, 10 * n);
    }
    row("10000", FleetWorld { nodes: 10_000, quantities: 8, ..d }, 1);
}
