//! Random numbers that never change between versions: xoshiro256++ seeded by splitmix64.

/// A generator that depends on its seed alone, on every machine and in every version of corewise.
///
/// xoshiro256++ 1.0 by David Blackman and Sebastiano Vigna (<https://prng.di.unimi.it/>), public domain.
#[derive(Clone, Debug)]
pub struct RandomGenerator {
    state: [u64; 4],
}

impl RandomGenerator {
    /// Creates a generator; every seed is good, zero too.
    pub fn new(seed: u64) -> Self {
        let mut mix = seed;
        let mut next = || {
            mix = mix.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (mix ^ (mix >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        Self { state: [next(), next(), next(), next()] }
    }

    /// Returns the next 64 random bits.
    #[inline]
    pub fn next_bits(&mut self) -> u64 {
        let [s0, s1, s2, s3] = &mut self.state;
        let result = s0.wrapping_add(*s3).rotate_left(23).wrapping_add(*s0);
        let shifted = *s1 << 17;
        *s2 ^= *s0;
        *s3 ^= *s1;
        *s1 ^= *s2;
        *s0 ^= *s3;
        *s2 ^= shifted;
        *s3 = s3.rotate_left(45);
        result
    }

    /// Returns a number from 0 to `bound - 1`, each equally likely (Lemire's multiplication with rejection).
    ///
    /// # Panics
    /// If `bound` is zero.
    #[inline]
    pub fn next_below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "no number is below zero");
        let bound = bound as u64;
        let threshold = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.next_bits()) * u128::from(bound);
            if product as u64 >= threshold {
                return (product >> 64) as usize;
            }
        }
    }

    /// Returns a number in `[0, 1)`.
    #[inline]
    pub fn next_unit(&mut self) -> f64 {
        (self.next_bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a standard normal number (Box and Muller).
    pub fn next_normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.next_unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.next_unit()).cos()
    }

    /// Shuffles the items into a uniformly random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.next_below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of xoshiro256++ for the state (1, 2, 3, 4), from the authors' reference implementation.
    #[test]
    fn the_sequence_is_the_reference_one() {
        let mut random = RandomGenerator { state: [1, 2, 3, 4] };
        let first: Vec<u64> = (0..4).map(|_| random.next_bits()).collect();
        assert_eq!(first, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn every_order_of_three_is_equally_likely() {
        let mut random = RandomGenerator::new(7);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..60_000 {
            let mut items = [0, 1, 2];
            random.shuffle(&mut items);
            *seen.entry(items).or_insert(0_u32) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|&count| count.abs_diff(10_000) < 500), "{seen:?}");
    }
}
