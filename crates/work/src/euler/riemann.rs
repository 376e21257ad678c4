//! Exact solution of Riemann's problem: the state at a later time of two uniform gases that begin side by side.
//!
//! After E. F. Toro, Riemann Solvers and Numerical Methods for Fluid Dynamics, chapter 4.

use super::gas::{GAMMA, sound_speed};

/// Density, velocity and pressure.
pub type GasState = [f64; 3];

/// Left gas of Sod's tube.
pub const SOD_LEFT: GasState = [1.0, 0.0, 1.0];
/// Right gas of Sod's tube.
pub const SOD_RIGHT: GasState = [0.125, 0.0, 0.1];

/// Bisections of the pressure's interval: to the last bit.
const HALVINGS: u32 = 200;

/// Returns the velocity change across the wave between a gas and the given pressure behind it.
fn speed_change([density, _, own]: GasState, pressure: f64) -> f64 {
    if pressure > own {
        let (a, b) = (2.0 / ((GAMMA + 1.0) * density), (GAMMA - 1.0) / (GAMMA + 1.0) * own);
        (pressure - own) * (a / (pressure + b)).sqrt()
    } else {
        let power = (GAMMA - 1.0) / (2.0 * GAMMA);
        2.0 * sound_speed(density, own) / (GAMMA - 1.0) * ((pressure / own).powf(power) - 1.0)
    }
}

/// Returns pressure and velocity between the two outer waves, for gases that do not part so fast that a vacuum forms.
pub fn state_between(left: GasState, right: GasState) -> (f64, f64) {
    let excess = |pressure| speed_change(left, pressure) + speed_change(right, pressure) + right[1] - left[1];
    let (mut low, mut high) = (0.0, left[2].max(right[2]));
    while excess(high) < 0.0 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if excess(middle) < 0.0 { low = middle } else { high = middle }
    }
    let pressure = f64::midpoint(low, high);
    let velocity = 0.5 * (left[1] + right[1] + speed_change(right, pressure) - speed_change(left, pressure));
    (pressure, velocity)
}

/// Returns the gas at a place, given as distance per time from the initial boundary.
pub fn gas_at(left: GasState, right: GasState, place: f64) -> GasState {
    let (pressure, velocity) = state_between(left, right);
    if place <= velocity {
        return left_of_contact(left, pressure, velocity, place);
    }
    // Mirrored, the right side is the left side.
    let mirrored = left_of_contact([right[0], -right[1], right[2]], pressure, -velocity, -place);
    [mirrored[0], -mirrored[1], mirrored[2]]
}

fn left_of_contact(gas: GasState, pressure: f64, velocity: f64, place: f64) -> GasState {
    let [density, own_velocity, own] = gas;
    let (own_sound, ratio) = (sound_speed(density, own), pressure / own);
    let small = (GAMMA - 1.0) / (GAMMA + 1.0);
    if pressure > own {
        let shock =
            own_velocity - own_sound * ((GAMMA + 1.0) / (2.0 * GAMMA) * ratio + (GAMMA - 1.0) / (2.0 * GAMMA)).sqrt();
        return if place < shock {
            gas
        } else {
            [density * (ratio + small) / (small * ratio + 1.0), velocity, pressure]
        };
    }
    let behind = [density * ratio.powf(1.0 / GAMMA), velocity, pressure];
    let (head, tail) = (own_velocity - own_sound, velocity - sound_speed(behind[0], pressure));
    if place < head {
        return gas;
    }
    if place > tail {
        return behind;
    }
    let slowed = 2.0 / (GAMMA + 1.0) + small / own_sound * (own_velocity - place);
    let inside = 2.0 / (GAMMA + 1.0) * (own_sound + (GAMMA - 1.0) / 2.0 * own_velocity + place);
    [density * slowed.powf(2.0 / (GAMMA - 1.0)), inside, own * slowed.powf(2.0 * GAMMA / (GAMMA - 1.0))]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Toro's tables 4.1 and 4.2.
    #[test]
    fn pressure_and_velocity_between_the_waves_are_the_published_ones() {
        let blast = 1e3;
        for (left, right, pressure, velocity) in [
            (SOD_LEFT, SOD_RIGHT, 0.30313, 0.92745),
            ([1.0, -2.0, 0.4], [1.0, 2.0, 0.4], 0.00189, 0.0),
            ([1.0, 0.0, blast], [1.0, 0.0, 0.01], 460.894, 19.5975),
            ([1.0, 0.0, 0.01], [1.0, 0.0, 100.0], 46.0950, -6.19633),
            ([5.99924, 19.5975, 460.894], [5.99242, -6.19633, 46.0950], 1691.64, 8.68975),
        ] {
            let (p, u) = state_between(left, right);
            assert!((p - pressure).abs() < 6e-6 * pressure.max(1.0), "{p} {pressure}");
            assert!((u - velocity).abs() < 6e-6 * velocity.abs().max(1.0), "{u} {velocity}");
        }
    }

    /// Densities on both sides of the contact, and mass and momentum that do not pile up at the shock.
    #[test]
    fn sods_tube_has_its_waves() {
        let gas = |place| gas_at(SOD_LEFT, SOD_RIGHT, place);
        assert_eq!((gas(-1.2), gas(1.8)), (SOD_LEFT, SOD_RIGHT));
        assert!((gas(0.9)[0] - 0.42632).abs() < 1e-5 && (gas(1.0)[0] - 0.26557).abs() < 1e-5);
        let shock = 1.75216;
        let ([density, velocity, pressure], before) = (gas(1.75), SOD_RIGHT);
        assert!((density * (velocity - shock) - before[0] * (before[1] - shock)).abs() < 1e-5);
        let push = |[density, velocity, pressure]: GasState| density * (velocity - shock).powi(2) + pressure;
        assert!((push([density, velocity, pressure]) - push(before)).abs() < 1e-5);
        // Inside the fan nothing jumps.
        for place in [-1.1832, -0.0703] {
            let (a, b) = (gas(place - 1e-3), gas(place + 1e-3));
            assert!((0..3).all(|part| (a[part] - b[part]).abs() < 5e-3), "{a:?} {b:?}");
        }
    }
}
