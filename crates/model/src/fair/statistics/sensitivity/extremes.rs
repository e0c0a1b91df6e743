//! The worst pair of records in the L1 norm.

/// A record is `x` before and `x'` after; this is what a feature adds by its value in them.
#[derive(Clone, Copy)]
pub(super) struct Slopes {
    /// Where it matters more in `x`, of `x` and of `x'`.
    pub(super) before: [f64; 2],
    /// Where it matters more in `x'`, of `x` and of `x'`.
    pub(super) after: [f64; 2],
}

impl Slopes {
    /// The same wherever.
    pub(super) fn even(both: [f64; 2]) -> Self {
        Self { before: both, after: both }
    }
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
    let mut search = Search::new(features)?;
    // One half after the other is the worst, as it turns out; others are dismissed at once.
    let halves = (0..features).map(|k| (1_u32 << k) - 1).flat_map(|b| [b, !b]);
    for signs in halves.chain(0..1 << features) {
        let mut sides = [Chain::default(), Chain::default()];
        for sign in signs_of(signs, features) {
            let slopes = if sign > 0.0 { slopes.before } else { slopes.after };
            sides[0].add(1.0, sign, slopes[0]);
            sides[1].add(1.0, -sign, slopes[1]);
        }
        search.offer(&sides, 0.0);
    }
    Some(search.found())
}

/// The same with the sizes of `p x + q x'` in place of slopes, for `p > q > 0`.
///
/// # Guarantee
///
/// With `s` and `e` as above, `p x + q x'` is negative where `r < -(p + q)/(p - q)`: among the
/// first in the order of sizes, at those with a negative sign.
pub(super) fn weighed(features: usize, [p, q]: [f64; 2]) -> Option<f64> {
    let mut search = Search::new(features)?;
    for signs in 0..1 << features {
        let negative = (0..features).filter(|k| signs >> k & 1 == 0).map(|k| k + 1);
        for turned in std::iter::once(0).chain(negative) {
            let mut sides = [Chain::default(), Chain::default()];
            for (k, sign) in signs_of(signs, features).enumerate() {
                let side = if sign < 0.0 && k < turned { -1.0 } else { 1.0 };
                sides[0].add(1.0, sign, side * p);
                sides[1].add(1.0, -sign, side * q);
            }
            search.offer(&sides, 0.0);
        }
    }
    Some(search.found())
}

/// The same with the sizes of `w o - p x - q x'` and of `w o - p x + q x'` in place of slopes,
/// where no record has negative features and `o` is one, too.
///
/// # Guarantee
///
/// Let `K` be the `k` features where such a sum is positive. `o` adds at most `w sqrt k` there, and
/// nothing elsewhere. With a length of `sin f` in `K`, `x` adds to the sizes of entries at most
/// `|x_K|_1 (2 |x_R|_1 + |x_K|_1)/8`, so `sqrt(k) sin f sqrt(4 d - 3 k)/8`, and costs `p |x_K|_1`.
/// If that is no gain, `x` is zero in `K` and `r_i = -1`: `K` comes first, the rest is as above. If
/// it is one of `g sin f`, the rest of `x` has the length `cos f`, and at the price `l` of a square
/// both together are worth `g sin f - l sin^2 f <= g^2/(4 l)` more.
///
/// Where the slope of `x'` is negative, some of it may be forgiven, since `x'` is not: what is left
/// has `x'` zero there if it is even on all other features. Search comes within 0.2 % of that.
pub(super) fn opposed(features: usize, w: f64, [p, q]: [f64; 2]) -> Option<f64> {
    let mut search = Search::new(features)?;
    for within in 0..=features {
        let [inside, outside] = [within, features - within].map(|count| count as f64);
        let gain = inside.sqrt() * ((4.0 * outside + inside).sqrt() / 8.0 - p).max(0.0);
        let forgiven = |others: f64| -q.min(others.sqrt() / 4.0);
        for slopes in [[forgiven(outside), q], [q, forgiven(inside)]] {
            for signs in 0..1 << (features - within) {
                let mut sides = [Chain::default(), Chain::default()];
                sides[0].aside = gain;
                sides[1].add(inside, 1.0, slopes[0]);
                for sign in signs_of(signs, features - within) {
                    sides[0].add(1.0, sign, p);
                    sides[1].add(1.0, -sign, slopes[1]);
                }
                search.offer(&sides, w * inside.sqrt());
            }
        }
    }
    Some(search.found())
}

fn signs_of(bits: u32, features: usize) -> impl Iterator<Item = f64> {
    (0..features).map(move |k| if bits >> k & 1 == 1 { 1.0 } else { -1.0 })
}

/// The most of all pairs of chains so far.
struct Search {
    most: f64,
    /// The best ones of the pair that has it: what is no more with these is not looked at.
    prices: [f64; 2],
}

impl Search {
    fn new(features: usize) -> Option<Self> {
        let start = Self { most: 0.0, prices: [f64::INFINITY; 2] };
        (1..=MOST).contains(&features).then_some(start)
    }

    fn offer(&mut self, sides: &[Chain; 2], more: f64) {
        let bound = |prices: [f64; 2]| {
            let [before, after] = [0, 1].map(|side| sides[side].bound(prices[side]));
            before + after + more
        };
        if bound(self.prices) <= self.most {
            return;
        }
        let best = [sides[0].best_price(), sides[1].best_price()];
        if bound(best) > self.most {
            (self.most, self.prices) = (bound(best), best);
        }
    }

    fn found(self) -> f64 {
        self.most * (1.0 + 1e-12)
    }
}

/// `slopes x + x S x/8` with the signs of `S` of one side.
#[derive(Default)]
struct Chain {
    /// Rows of features with the same sign, outermost first: how many, sign, slope.
    rows: Vec<(f64, f64, f64)>,
    /// What a length in none of them adds.
    aside: f64,
}

impl Chain {
    fn add(&mut self, count: f64, sign: f64, slope: f64) {
        match self.rows.last_mut() {
            Some(last) if (last.1, last.2) == (sign, slope) => last.0 += count,
            _ if count > 0.0 => self.rows.push((count, sign, slope)),
            _ => {}
        }
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
        let aside = self.aside * self.aside / (4.0 * price);
        match inner {
            None => price + aside,
            Some([a, b, c]) if a < 0.0 => price + c - b * b / (4.0 * a) + aside,
            Some(_) => f64::INFINITY,
        }
    }

    /// The bound is convex in the price, and infinite where that is too low.
    fn best_price(&self) -> f64 {
        let features: f64 = self.rows.iter().map(|row| row.0).sum();
        let steepest = self.rows.iter().map(|row| row.2.abs()).fold(0.0, f64::max);
        let (mut low, mut high) =
            (0.0, features / 8.0 + steepest * features.sqrt() + self.aside + 1e-9);
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
