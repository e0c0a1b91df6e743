//! The worst pair of records in the L1 norm.

/// A record is `x` before and `x'` after; this is what a feature adds by its value in them.
#[derive(Clone, Copy)]
pub(super) struct Slopes {
    /// Where it matters more in `x`, of `x` and of `x'`.
    pub(super) before: [f64; 2],
    /// Where it matters more in `x'`, of `x` and of `x'`.
    pub(super) after: [f64; 2],
}

/// So many features are searched through; the time doubles with each.
const MOST: usize = 14;

/// The greatest value of the slopes and the sum of sizes of the entries of `(x x - x' x')/8`, over
/// all records in the unit ball; a little more, against rounding. Nothing if there are too many
/// features.
///
/// # Guarantee
///
/// With `s = x + x'` and `e = x - x'` an entry is `(s_i e_j + e_i s_j)/2`. Turning the sign of a
/// feature in both records changes no size, so that all `s_i >= 0`, and the sign of an entry is
/// that of `r_i + r_j` with `r = e/s`: of the larger of the two. In the order of sizes of `r`,
/// largest first, it is therefore `b_min(i,j)` with `b` the signs of `r`. So the greatest value is
/// the greatest over all `b` of two problems, one in `x` and one in `x'`. Each is a quadratic over
/// a ball, and `l` plus the greatest value of it less `l |x|^2` is no less, for any `l`; for the
/// best `l` it is equal. Features with the same sign in a row have the same value, and with sums
/// `T` from a row on the quadratic is a chain.
///
/// For records without negative features that is an upper bound; search finds it attained.
pub(super) fn greatest(features: usize, slopes: Slopes) -> Option<f64> {
    if !(1..=MOST).contains(&features) {
        return None;
    }
    let mut most = 0.0;
    // Where one half after the other is the worst, as it turns out, others are dismissed at once.
    let mut prices = [f64::INFINITY; 2];
    let halves = (0..features).map(|k| (1_u32 << k) - 1).flat_map(|b| [b, !b]);
    for signs in halves.chain(0..1 << features) {
        let sides = [1.0, -1.0].map(|side| Chain::new(features, signs, side, &slopes));
        let bound = |prices: [f64; 2]| sides[0].bound(prices[0]) + sides[1].bound(prices[1]);
        if bound(prices) <= most {
            continue;
        }
        let best = [sides[0].best_price(), sides[1].best_price()];
        if bound(best) > most {
            (most, prices) = (bound(best), best);
        }
    }
    Some(most * (1.0 + 1e-12))
}

/// `slopes x + x S x/8` with the signs of `S` of one side.
struct Chain {
    /// Rows of features with the same sign, outermost first: how many, sign, slope.
    rows: Vec<(f64, f64, f64)>,
}

impl Chain {
    fn new(features: usize, signs: u32, side: f64, slopes: &Slopes) -> Self {
        let mut rows: Vec<(f64, f64, f64)> = Vec::with_capacity(features);
        let of = usize::from(side < 0.0);
        for k in 0..features {
            let (sign, slope) = match signs >> k & 1 == 1 {
                true => (side, slopes.before[of]),
                false => (-side, slopes.after[of]),
            };
            match rows.last_mut() {
                Some(last) if last.1 == sign => last.0 += 1.0,
                _ => rows.push((1.0, sign, slope)),
            }
        }
        Self { rows }
    }

    /// The price plus the greatest value of the chain where a square costs that: no less than the
    /// greatest value in the unit ball.
    fn bound(&self, price: f64) -> f64 {
        // The greatest value with all rows from here on summing to T is a T^2 + b T + c; at first
        // only T = 0 is possible.
        let mut inner: Option<[f64; 3]> = None;
        for (size, sign, slope) in self.rows.iter().rev() {
            let (cost, turn) = (price / size, sign / 8.0);
            inner = Some(match inner {
                None => [turn - cost, *slope, 0.0],
                Some([a, b, c]) => {
                    // Over Y, the part of T that is further in.
                    let curve = cost + turn - a;
                    if curve <= 0.0 {
                        return f64::INFINITY;
                    }
                    let (fixed, per) = (b - slope, 2.0 * cost);
                    [
                        turn - cost + per * per / (4.0 * curve),
                        slope + fixed * per / (2.0 * curve),
                        c + fixed * fixed / (4.0 * curve),
                    ]
                }
            });
        }
        match inner {
            Some([a, b, c]) if a < 0.0 => price + c - b * b / (4.0 * a),
            _ => f64::INFINITY,
        }
    }

    /// The bound is convex in the price, and infinite where that is too low.
    fn best_price(&self) -> f64 {
        let features: f64 = self.rows.iter().map(|row| row.0).sum();
        let steepest = self.rows.iter().map(|row| row.2.abs()).fold(0.0, f64::max);
        let (mut low, mut high) = (0.0, features / 8.0 + steepest * features.sqrt() + 1e-9);
        for _ in 0..60 {
            let [left, right] = [0.382, 0.618].map(|share| low + share * (high - low));
            if self.bound(left) < self.bound(right) {
                high = right;
            } else {
                low = left;
            }
        }
        high
    }
}
