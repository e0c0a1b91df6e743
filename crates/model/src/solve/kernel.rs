//! Losses of single records, and one pass over dense rows: score, derivative, sum.

use pulp::{Arch, NullaryFnOnce};

use crate::loss::{Loss, hinge, logistic_slope};

/// A loss of one score, as a function of what [`Rows`](super::Rows) calls a margin: the score times
/// the sign, or the score less the number that is to be predicted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Curve {
    Logistic,
    Hinge {
        width: f64,
    },
    /// Squares up to a slope, then straight lines.
    Squares {
        slope: f64,
    },
}

impl Curve {
    pub(super) fn new(loss: Loss, slope: f64) -> Self {
        match loss {
            Loss::Logistic => Self::Logistic,
            Loss::SmoothedHinge { width } => Self::Hinge { width },
            _ => Self::Squares { slope },
        }
    }

    pub(super) fn value(&self, margin: f64) -> f64 {
        match *self {
            Self::Logistic => libm::log1p(libm::exp(-margin.abs())) + (-margin).max(0.0),
            Self::Hinge { width } => hinge(width, margin).0,
            Self::Squares { slope } => {
                let size = margin.abs();
                if size <= slope { 0.5 * size * size } else { slope * (size - 0.5 * slope) }
            }
        }
    }

    pub(super) fn bend(&self, margin: f64) -> f64 {
        match *self {
            Self::Logistic => {
                let slope = logistic_slope(margin);
                -slope * (1.0 + slope)
            }
            Self::Hinge { width } => hinge(width, margin).2,
            Self::Squares { slope } => f64::from(u8::from(margin.abs() <= slope)),
        }
    }

    /// The largest second derivative.
    pub(super) fn smoothness(&self) -> f64 {
        match *self {
            Self::Logistic => 0.25,
            Self::Hinge { width } => 0.5 / width,
            Self::Squares { .. } => 1.0,
        }
    }
}

/// Partial sums of a score, and what rows are padded to a multiple of.
pub(super) const LANES: usize = 16;
/// Records whose derivatives are computed together.
const BLOCK: usize = 16;
/// Rows that are added together.
const GROUP: usize = 4;
/// Blocks that are summed before a compensated addition: 256 records.
const PART: usize = 16;

/// Adds up `slope(margin) row` over all rows, and gives the sum of the absolute slopes.
pub(super) struct Sum<'a> {
    pub(super) curve: Curve,
    /// Rows of `x.len()` numbers, which is a multiple of [`LANES`].
    pub(super) values: &'a [f64],
    pub(super) targets: &'a [f64],
    pub(super) x: &'a [f64],
    pub(super) margins: &'a mut [f64],
    /// As long as `x`.
    pub(super) out: &'a mut [f64],
}

impl Sum<'_> {
    pub(super) fn run(self) -> f64 {
        Arch::new().dispatch(self)
    }
}

impl NullaryFnOnce for Sum<'_> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        let Self { curve, values, targets, x, margins, out } = self;
        let stride = x.len();
        let (mut part, mut lost) = (vec![0.0; stride], vec![0.0; stride]);
        out.fill(0.0);
        let mut slopes = 0.0;
        for (k, margins) in margins.chunks_mut(BLOCK).enumerate() {
            let first = k * BLOCK;
            let rows = &values[first * stride..][..margins.len() * stride];
            scores(rows, x, margins);
            if !targets.is_empty() {
                margins.iter_mut().zip(&targets[first..]).for_each(|(m, y)| *m -= y);
            }
            let mut c = [0.0; BLOCK];
            derivatives(curve, margins, &mut c[..margins.len()]);
            slopes += c.iter().map(|c| c.abs()).sum::<f64>();
            add(rows, &c[..margins.len()], &mut part);
            if k % PART == PART - 1 {
                settle(&mut part, out, &mut lost);
            }
        }
        settle(&mut part, out, &mut lost);
        out.iter_mut().zip(&lost).for_each(|(out, lost)| *out += lost);
        slopes
    }
}

/// One loop a loss, so that each is vectorised.
#[inline(always)]
pub(super) fn derivatives(curve: Curve, margins: &[f64], out: &mut [f64]) {
    match curve {
        Curve::Logistic => {
            for (out, m) in out.iter_mut().zip(margins) {
                *out = logistic_slope(*m);
            }
        }
        Curve::Hinge { width } => {
            for (out, m) in out.iter_mut().zip(margins) {
                *out = hinge(width, *m).1;
            }
        }
        Curve::Squares { slope } => {
            for (out, m) in out.iter_mut().zip(margins) {
                *out = m.clamp(-slope, slope);
            }
        }
    }
}

/// `out_i = <row_i, x>`. Two rows at a time: their sums fill half of sixteen registers.
#[inline(always)]
fn scores(rows: &[f64], x: &[f64], out: &mut [f64]) {
    let stride = x.len();
    let (x, _) = x.as_chunks::<LANES>();
    let mut pairs = rows.chunks_exact(2 * stride);
    let mut outs = out.chunks_exact_mut(2);
    for (rows, out) in (&mut pairs).zip(&mut outs) {
        let (a, b) = rows.split_at(stride);
        let (a, b) = (a.as_chunks::<LANES>().0, b.as_chunks::<LANES>().0);
        let (mut first, mut second) = ([0.0; LANES], [0.0; LANES]);
        for ((a, b), x) in a.iter().zip(b).zip(x) {
            for l in 0..LANES {
                first[l] = a[l].mul_add(x[l], first[l]);
            }
            for l in 0..LANES {
                second[l] = b[l].mul_add(x[l], second[l]);
            }
        }
        out[0] = tree(first);
        out[1] = tree(second);
    }
    let row = pairs.remainder().as_chunks::<LANES>().0;
    for out in outs.into_remainder() {
        let mut sum = [0.0; LANES];
        for (row, x) in row.iter().zip(x) {
            for l in 0..LANES {
                sum[l] = row[l].mul_add(x[l], sum[l]);
            }
        }
        *out = tree(sum);
    }
}

#[inline(always)]
fn tree(mut sum: [f64; LANES]) -> f64 {
    for half in [8, 4, 2, 1] {
        for l in 0..half {
            sum[l] += sum[l + half];
        }
    }
    sum[0]
}

/// `out += sum c_i row_i`, in order.
#[inline(always)]
fn add(rows: &[f64], c: &[f64], out: &mut [f64]) {
    let stride = out.len();
    let mut groups = rows.chunks_exact(GROUP * stride);
    let (cs, rest) = c.as_chunks::<GROUP>();
    for (rows, c) in (&mut groups).zip(cs) {
        let (r0, rows) = rows.split_at(stride);
        let (r1, rows) = rows.split_at(stride);
        let (r2, r3) = rows.split_at(stride);
        for ((((out, r0), r1), r2), r3) in out.iter_mut().zip(r0).zip(r1).zip(r2).zip(r3) {
            let sum = c[1].mul_add(*r1, c[0].mul_add(*r0, *out));
            *out = c[3].mul_add(*r3, c[2].mul_add(*r2, sum));
        }
    }
    for (row, c) in groups.remainder().chunks_exact(stride).zip(rest) {
        out.iter_mut().zip(row).for_each(|(out, v)| *out = c.mul_add(*v, *out));
    }
}

/// Adds a part to a sum, and what the additions lose to `lost` (Knuth's two-sum); the part is
/// emptied.
#[inline(always)]
pub(super) fn settle(part: &mut [f64], sum: &mut [f64], lost: &mut [f64]) {
    for ((part, sum), lost) in part.iter_mut().zip(sum).zip(lost) {
        let total = *sum + *part;
        let back = total - *sum;
        *lost += (*sum - (total - back)) + (*part - back);
        *sum = total;
        *part = 0.0;
    }
}
