//! What is minimised: losses of single records, their gradients, and sums of clipped gradients.

use std::ops::{AddAssign, Range};

use undertone_matrix::Mat;
use undertone_real::Real;

use crate::dataset::{Dataset, Features, Target};

/// A sum of losses over records, each a function of the same parameters `x`.
///
/// Every method takes a batch, which may be empty. Sums run over records in the order of the batch.
pub trait Objective<R: Real>: Send + Sync {
    /// How many parameters there are.
    fn dimension(&self) -> usize;

    /// The sum of the losses.
    fn loss(&self, x: &[R], batch: Batch<'_, R>, scratch: &mut Scratch<R>) -> f64;

    /// Writes the sum of the gradients, each shortened to an L2 norm of at most `clip`.
    ///
    /// # Guarantee
    ///
    /// In real arithmetic the contribution of a record is at most `clip` long: norms are bounded
    /// from above, also against the rounding of this computation, and factors round down. It
    /// depends on that record and on `x` only, not on the rest of the batch, in bits. A gradient
    /// that is not finite contributes zero and is counted. The additions round.
    fn clipped_sum(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        clip: f64,
        scratch: &mut Scratch<R>,
        out: &mut [R],
    ) -> Clipped;

    /// Puts sums in the places of the points that they are taken at, each of which has a batch of
    /// its own: what [`clipped_sum`](Self::clipped_sum) writes, in bits. Whoever has many points of
    /// few numbers gains by asking for all at once. The memory of `spare` is exchanged.
    fn clipped_sums(
        &self,
        of: &mut [At<'_, R>],
        clip: f64,
        scratch: &mut Scratch<R>,
        spare: &mut Vec<R>,
    ) {
        one_by_one(self, of, clip, scratch, spare);
    }

    /// Writes the sum of the gradients as they are.
    fn gradient(&self, x: &[R], batch: Batch<'_, R>, scratch: &mut Scratch<R>, out: &mut [R]) {
        self.clipped_sum(x, batch, f64::INFINITY, scratch, out);
    }

    /// How many numbers [`scores`](Self::scores) writes for a record.
    fn outputs(&self) -> usize;

    /// Writes what the model says of every record: a value, a margin, or one number a class.
    fn scores(&self, x: &[R], batch: Batch<'_, R>, scratch: &mut Scratch<R>, out: &mut [R]);
}

/// A point, and the records whose gradients are wanted there.
pub struct At<'a, R> {
    /// The point, until the sum takes its place.
    pub point: Vec<R>,
    /// The records.
    pub batch: Batch<'a, R>,
}

/// What [`Objective::clipped_sums`] does unless an objective knows better.
pub(crate) fn one_by_one<R: Real>(
    objective: &(impl Objective<R> + ?Sized),
    of: &mut [At<'_, R>],
    clip: f64,
    scratch: &mut Scratch<R>,
    spare: &mut Vec<R>,
) {
    for At { point, batch } in of {
        spare.resize(point.len(), R::ZERO);
        objective.clipped_sum(point, *batch, clip, scratch, spare);
        std::mem::swap(point, spare);
    }
}

/// Batches of more records than these are not asked for before they are read: processors find the
/// next record by themselves while they compute with one.
const FEW: usize = 4;

/// Some records of a data set.
#[derive(Clone, Copy)]
pub struct Batch<'a, R> {
    data: &'a Dataset<R>,
    records: Option<&'a [usize]>,
}

impl<'a, R: Real> Batch<'a, R> {
    /// Those with these numbers. A number that does not exist panics when it is used.
    #[inline(always)]
    pub fn of(data: &'a Dataset<R>, records: &'a [usize]) -> Self {
        Self { data, records: Some(records) }
    }

    /// All records.
    pub fn all(data: &'a Dataset<R>) -> Self {
        Self { data, records: None }
    }

    /// The data set.
    pub fn data(&self) -> &'a Dataset<R> {
        self.data
    }

    /// How many records.
    pub fn len(&self) -> usize {
        self.records.map_or_else(|| self.data.records(), <[usize]>::len)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of a record in the data set.
    pub fn record(&self, position: usize) -> usize {
        self.records.map_or(position, |records| records[position])
    }

    /// The numbers of all records.
    pub fn iter(self) -> impl Iterator<Item = usize> + 'a {
        (0..self.len()).map(move |position| self.record(position))
    }

    /// The features of records at some positions as they lie in memory, if they lie there.
    pub(crate) fn rows(&self, positions: Range<usize>) -> Option<Mat<'a, R>> {
        let Features::Dense { width, values } = self.data.features() else { return None };
        Some(match self.records {
            Some(records) => Mat::of_rows(values, *width, &records[positions]),
            None => {
                let rows = &values[positions.start * width..positions.end * width];
                Mat::new(rows, positions.len(), *width)
            }
        })
    }

    /// Asks for the records, if they are few: they will be read soon.
    pub fn fetch(&self) {
        for record in self.records.iter().filter(|records| records.len() <= FEW).copied().flatten()
        {
            self.data.fetch(*record);
        }
    }

    /// What is to be predicted of the record at a position.
    pub fn target(&self, position: usize) -> Target<'a, R> {
        self.data.target(self.record(position))
    }
}

/// What happened to the records of a [`clipped_sum`](Objective::clipped_sum).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clipped {
    /// Gradients that were too long and were shortened.
    pub shortened: u64,
    /// Gradients that were not finite and were left out.
    pub dropped: u64,
}

impl AddAssign for Clipped {
    fn add_assign(&mut self, other: Self) {
        self.shortened += other.shortened;
        self.dropped += other.dropped;
    }
}

/// Memory that computations reuse. A call may leave anything in it, and gives the same result
/// whatever is in it.
#[derive(Clone, Debug, Default)]
pub struct Scratch<R> {
    /// Plain memory, taken with [`take`](Self::take).
    memory: Vec<R>,
    /// That of matrix products.
    pub packing: undertone_matrix::Packing<R>,
    /// That of each thread, if there are several.
    threads: Vec<Scratch<R>>,
}

impl<R: Real> Scratch<R> {
    /// For so many threads of the pool in which a computation is asked for. What is computed does
    /// not depend on their number, in bits; networks use them where a batch is worth it.
    pub fn on(threads: usize) -> Self {
        let threads = if threads > 1 { vec![Self::default(); threads] } else { Vec::new() };
        Self { threads, ..Self::default() }
    }

    /// So many numbers, with anything in them, and the memory of matrix products.
    pub fn take(&mut self, count: usize) -> (&mut [R], &mut undertone_matrix::Packing<R>) {
        let (memory, packing, _) = self.take_all(count);
        (memory, packing)
    }

    /// The same, and that of each thread.
    pub(crate) fn take_all(
        &mut self,
        count: usize,
    ) -> (&mut [R], &mut undertone_matrix::Packing<R>, &mut [Self]) {
        if self.memory.len() < count {
            self.memory.resize(count, R::ZERO);
        }
        (&mut self.memory[..count], &mut self.packing, &mut self.threads)
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.threads.len().max(1)
    }

    /// How many threads so many multiplications are worth.
    pub(crate) fn threads_for(&self, multiplications: usize) -> usize {
        worth(self.threads.len(), multiplications)
    }
}

/// How many of so many threads so many multiplications are worth.
pub(crate) fn worth(threads: usize, multiplications: usize) -> usize {
    /// Multiplications that take far longer than to wake a thread up.
    const WORTH_A_THREAD: usize = 1 << 20;
    threads.min(multiplications / WORTH_A_THREAD)
}

/// What a gradient is multiplied by so that its norm is at most `clip`, given an upper bound of the
/// square of its norm; `None` if that is not finite. Rounds down.
pub fn factor<R: Real>(squared_norm: f64, clip: f64) -> Option<R> {
    squared_norm.is_finite().then(|| R::from_f64(shorten::<R>(squared_norm, clip)))
}

/// The same for what is finite, without branches, so that loops over it are vectorised.
#[inline(always)]
pub(crate) fn shorten<R: Real>(squared_norm: f64, clip: f64) -> f64 {
    // Narrowing rounds to the nearest, and so does the product with a number of the gradient: two
    // units in the last place of the narrower type, and some of f64 for the root and the quotient.
    let (norm, unit) = (squared_norm.sqrt(), R::EPSILON.to_f64());
    let short = clip / norm * (1.0 - 2.0 * unit - 1e-12);
    if norm <= clip * (1.0 - 1e-12) { 1.0 } else { short }
}
