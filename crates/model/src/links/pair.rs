//! A pair of cpus and its visits: mostly few, often one on each side. Large maps have millions of pairs.

use corewise_statistics::order::median;

/// Ratio of a pair's directions beyond which they are two different costs.
pub(super) const APART: f64 = 2.0;

/// Returns the cheaper and the dearer way of a pair, if these are two costs, for which a mean is meaningless.
pub(super) fn two_costs(there: f64, back: f64) -> Option<[f64; 2]> {
    let [cheaper, dearer] = [there.min(back), there.max(back)];
    (there.is_finite() && back.is_finite() && dearer > APART * cheaper).then_some([cheaper, dearer])
}

/// Round trips between two cpus.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkPair {
    /// The lower cpu.
    pub a: u32,
    /// The higher cpu.
    pub b: u32,
    sides: PairSides,
}

/// The visits begun by `a`, and those begun by `b`. A single one on each side, as in imported matrices, is stored
/// inline.
#[derive(Clone, Debug, PartialEq)]
enum PairSides {
    One(f64),
    Both(f64, f64),
    Several(Box<[Vec<f64>; 2]>),
}

impl LinkPair {
    /// Returns the memory in bytes of a pair with this many visits from either side, including the allocator's
    /// overhead.
    pub(super) const fn size_in_bytes(visits: usize, back: usize) -> usize {
        let lists = if visits == 1 && back <= 1 { 0 } else { 48 + 3 * 16 + 8 * (visits + back) };
        size_of::<Self>() + lists
    }

    /// Creates a pair with visits begun by `a` alone.
    pub fn new(a: u32, b: u32, visits_ns: Vec<f64>) -> Self {
        Self::of_both(a, b, visits_ns, Vec::new())
    }

    /// Creates a pair with the visits begun by `a` and by `b`, each in order of time, in nanoseconds.
    pub fn of_both(a: u32, b: u32, visits_ns: Vec<f64>, back_ns: Vec<f64>) -> Self {
        let sides = match (&visits_ns[..], &back_ns[..]) {
            (&[there], []) => PairSides::One(there),
            (&[there], &[back]) => PairSides::Both(there, back),
            _ => PairSides::Several(Box::new([visits_ns, back_ns])),
        };
        Self { a, b, sides }
    }

    /// Returns each visit begun by `a`, in order of time, in nanoseconds: for compare-and-swap half of the median round
    /// trip. A visit has fresh pages on the node of the cpu that begins, several lines, and many short samples; the
    /// median is over all samples of all lines.
    pub fn visits_ns(&self) -> &[f64] {
        match &self.sides {
            PairSides::One(there) | PairSides::Both(there, _) => std::slice::from_ref(there),
            PairSides::Several(sides) => &sides[0],
        }
    }

    /// Returns the same for the visits begun by `b`.
    pub fn back_ns(&self) -> &[f64] {
        match &self.sides {
            PairSides::One(_) => &[],
            PairSides::Both(_, back) => std::slice::from_ref(back),
            PairSides::Several(sides) => &sides[1],
        }
    }

    /// Adds a latest visit, begun by `a` or `b`.
    pub fn push_visit(&mut self, is_back: bool, visit_ns: f64) {
        let mut sides = match &mut self.sides {
            PairSides::One(there) => [vec![*there], Vec::new()],
            PairSides::Both(there, back) => [vec![*there], vec![*back]],
            PairSides::Several(sides) => std::mem::take(&mut **sides),
        };
        sides[usize::from(is_back)].push(visit_ns);
        let [visits_ns, back_ns] = sides;
        *self = Self::of_both(self.a, self.b, visits_ns, back_ns);
    }

    /// Changes the cost of each visit, those begun by `b` last.
    pub fn change_visits(&mut self, change: impl FnMut(&mut f64)) {
        match &mut self.sides {
            PairSides::One(there) => [there].into_iter().for_each(change),
            PairSides::Both(there, back) => [there, back].into_iter().for_each(change),
            PairSides::Several(sides) => sides.iter_mut().flatten().for_each(change),
        }
    }

    /// Removes the visits begun by `b`.
    pub fn forget_back(&mut self) {
        *self = Self::new(self.a, self.b, self.visits_ns().to_vec());
    }

    /// Returns the pair's costs for summaries: each way by itself if these are two costs, else [`Self::one_way_ns`];
    /// empty without a visit.
    pub fn costs_ns(&self) -> impl Iterator<Item = f64> {
        let two = two_costs(self.from_a_ns(), self.from_b_ns());
        let one = Some(self.one_way_ns()).filter(|cost| two.is_none() && cost.is_finite());
        two.into_iter().flatten().chain(one)
    }

    /// Returns the values to draw for `a` and `b`, and for `b` and `a`: each way by itself if these are two costs, else
    /// [`Self::one_way_ns`].
    pub fn drawn_ns(&self) -> [f64; 2] {
        match two_costs(self.from_a_ns(), self.from_b_ns()) {
            Some(_) => [self.from_a_ns(), self.from_b_ns()],
            None => [self.one_way_ns(); 2],
        }
    }

    /// Returns the pair's cost, one way, in nanoseconds: the mean of both ways, or the visited one; NaN without a
    /// visit.
    pub fn one_way_ns(&self) -> f64 {
        match (self.from_a_ns(), self.from_b_ns()) {
            (there, back) if back.is_nan() => there,
            (there, back) if there.is_nan() => back,
            (there, back) => f64::midpoint(there, back),
        }
    }

    /// Returns all visits, those begun by `b` last.
    pub fn all_visits_ns(&self) -> Vec<f64> {
        [self.visits_ns(), self.back_ns()].concat()
    }

    /// Returns a cost for each turn, in order of time: the visit begun by `a`, or, if both sides took turns, the mean
    /// of one from each.
    pub fn in_turn_ns(&self) -> Vec<f64> {
        if self.back_ns().is_empty() {
            return self.visits_ns().to_vec();
        }
        self.visits_ns().iter().zip(self.back_ns()).map(|(there, back)| f64::midpoint(*there, *back)).collect()
    }

    /// Returns the median over the visits begun by `a`, with the memory on its node; NaN without one.
    pub fn from_a_ns(&self) -> f64 {
        median(self.visits_ns())
    }

    /// Returns the same for `b`.
    pub fn from_b_ns(&self) -> f64 {
        median(self.back_ns())
    }
}
