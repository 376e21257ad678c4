//! Bets on the typical run, and the shares of the wealth that they start with. These are chosen before the first block, so
//! every choice is valid.

/// The smallest tilt; each of the others is twice the one before, so that one exponential serves all. Small tilts are
/// for effects that are small relative to the noise.
pub(super) const SMALLEST_TILT: f64 = 0.043_75;
/// Number of tilts: 0.04375, 0.0875, 0.175, 0.35, 0.7, 1.4, 2.8 and 5.6.
pub(super) const TILTS: usize = 8;
/// Stakes of the bets on ranks alone, as shares of the wealth.
pub(super) const RANK_STAKES: [f64; 3] = [0.35, 0.7, 0.97];
/// Number of bets on the typical run.
pub(super) const BETS: usize = TILTS + RANK_STAKES.len();
/// Shares of the wealth, on the tilts and then on the ranks.
pub(super) type BetShares = [f64; BETS];

/// Usual shares. Most of the wealth wins soon if effects are large.
pub(super) const USUAL_SHARES: BetShares = [0.03, 0.03, 0.03, 0.04, 0.07, 0.12, 0.15, 0.22, 0.07, 0.12, 0.12];
/// Usual shares for experiments of at least twenty blocks: small effects are proven sooner.
pub(super) const PATIENT_SHARES: BetShares = [0.06, 0.12, 0.24, 0.26, 0.14, 0.04, 0.01, 0.01, 0.07, 0.03, 0.02];
/// Part of the wealth that stays on the usual shares, in case the expected noise is wrong: the evidence is never less than a
/// tenth of the usual one.
const USUAL_PART: f64 = 0.1;
/// Effects that the rest is for, in margins, each with its part.
const EXPECTED_EFFECTS: [(f64, f64); 4] = [(0.5, 0.2), (1.0, 0.25), (2.0, 0.25), (4.0, 0.3)];
/// Cube of the median size of a standard normal number.
const NORMAL_MEDIAN_CUBED: f64 = 0.307;

/// Returns the shares for an expected standard deviation of a block's gain and a margin above zero, both as logarithms of
/// ratios.
pub(super) fn shares_for(noise: f64, margin: f64, usual: &BetShares) -> BetShares {
    let mut shares = usual.map(|share| USUAL_PART * share);
    for (margins, part) in EXPECTED_EFFECTS {
        let (lower, upper_part) = place_tilt(fastest_tilt(margins * margin / noise));
        let part = (1.0 - USUAL_PART) * part;
        shares[lower] += part * (1.0 - upper_part);
        shares[lower + 1] += part * upper_part;
    }
    shares
}

/// Returns the tilt whose wealth grows fastest for an effect of `ratio` standard deviations: `ratio` times the median size
/// of a normal number around it, which the cube root approximates to 5 %.
fn fastest_tilt(ratio: f64) -> f64 {
    ratio * (NORMAL_MEDIAN_CUBED + ratio.powi(3)).cbrt()
}

/// Returns the tilt below `tilt` by its number, and the part of a share that belongs to the next one.
fn place_tilt(tilt: f64) -> (usize, f64) {
    let place = (tilt / SMALLEST_TILT).log2().clamp(0.0, (TILTS - 1) as f64);
    let lower = place.floor().min((TILTS - 2) as f64);
    (lower as usize, place - lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_the_whole_wealth() {
        for usual in [USUAL_SHARES, PATIENT_SHARES] {
            for noise in [1e-9, 0.001, 0.017, 0.07, 0.14, 1.0, 1e9] {
                for margin in [1e-6, 0.01, 0.03_f64.ln_1p(), 0.1, 2.0] {
                    let shares = shares_for(noise, margin, &usual);
                    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{shares:?}");
                    assert!(shares.iter().zip(usual).all(|(share, usual)| *share >= USUAL_PART * usual));
                }
            }
        }
    }

    /// At a margin of 3 % and 5 % of noise per run (7.07 % per gain), computed by another program from docs/statistics.md.
    #[test]
    fn shares_are_those_of_the_formula() {
        let shares = shares_for(0.05 * 2.0_f64.sqrt(), 0.03_f64.ln_1p(), &USUAL_SHARES);
        let expected = [0.003, 0.05656, 0.17647, 0.18197, 0.18679, 0.05721, 0.27731, 0.02969, 0.007, 0.012, 0.012];
        for (share, expected) in shares.iter().zip(expected) {
            assert!((share - expected).abs() < 1e-5, "{shares:?}");
        }
    }
}
