//! A table of cumulative probabilities on 127 bits, and its constant-time scan.

use super::fixed::Fixed;

/// Draws that are scanned together.
const LANES: usize = 64;

/// Entries that are compared with a draw while it is in a register.
const STRIDE: usize = 8;

/// The distribution function of |x|, where it is below one to 127 bits.
///
/// Entry j is P(|x| <= j) 2^127, rounded; its upper 63 bits are in `high`.
#[derive(Debug)]
pub(super) struct Table {
    /// Padded to whole strides with a number that no draw exceeds.
    high: Vec<i64>,
    low: Vec<u64>,
}

impl Table {
    /// The table for parameter sigma / sqrt(ratio), which must be at most 32.
    ///
    /// With c = ratio / (2 sigma^2), exact up to 2^-192, the weights g_j = exp(-c j^2) follow from
    /// exp(-c) by g_(j+1) = g_j a_j, a_(j+1) = a_j exp(-2c). Every product rounds by at most
    /// 2^-192, so after j < 600 steps g_j has an error below
    /// (j^2 + j) (error of exp(-c) + 2^-191). With 2^h the power in [`Fixed::exp_neg`], the error
    /// of exp(-c) is below 2^(h - 186). Call the table's parameter s: j stays below 17 s + 2, where
    /// exp(-c j^2) falls below 2^-192, and 2^h below 1 + 2^8 / s^2, and exp(-c) is 0 for s below
    /// 0.06; so j^2 2^h is below 2^20. The sum of all weights is then good to 2^-150, and so is
    /// every entry before its final rounding to 127 bits.
    pub(super) fn new(sigma: f64, ratio: u128) -> Self {
        let (mantissa, exponent) = binary(sigma);
        let c = Fixed::ratio(ratio, -2 * exponent - 1, u128::from(mantissa).pow(2));
        let base = c.exp_neg();
        let step = base.times(base);
        let (mut g, mut a) = (base, base);
        // From the centre outwards: 1 + 2 g_1 + ... + 2 g_j.
        let mut sums = vec![Fixed::ONE];
        let mut total = Fixed::ONE;
        while g != Fixed::ZERO {
            total = total.plus(g.doubled());
            sums.push(total);
            a = a.times(step);
            g = g.times(a);
        }
        let entries = sums.iter().map(|sum| sum.scaled_ratio(total)).filter(|e| e >> 127 == 0);
        let (mut high, low): (Vec<i64>, Vec<u64>) =
            entries.map(|e| ((e >> 64) as i64, e as u64)).unzip();
        high.resize(low.len().next_multiple_of(STRIDE), i64::MAX);
        Self { high, low }
    }

    /// Distance of one draw from the ideal: each of n entries is off by less than
    /// 2^-128 + 2^-150, which moves that much probability between two neighbours, and what is
    /// beyond the last entry is less than that too.
    pub(super) fn total_variation(&self) -> f64 {
        (self.low.len() + 1) as f64 * libm::exp2(-127.0)
    }

    /// One draw for each word: 63 bits are compared with the table, the lowest is the sign.
    ///
    /// `extension(i)` gives 64 more bits of draw `i`, for the rare tie.
    pub(super) fn sample(&self, bits: &[u64], extension: impl Fn(usize) -> u64, out: &mut [i64]) {
        let tied = pulp::Arch::new().dispatch(Scan { high: &self.high, bits, out: &mut *out });
        if tied {
            for (i, (out, &bits)) in out.iter_mut().zip(bits).enumerate() {
                *out = signed(self.magnitude((bits >> 1) as i64, extension(i)), bits);
            }
        }
    }

    /// The number of entries that are at most the draw, on all 127 bits.
    fn magnitude(&self, high: i64, low: u64) -> i64 {
        let entries = self.high.iter().zip(&self.low);
        entries.map(|(&h, &l)| i64::from((h, l) <= (high, low))).sum()
    }
}

/// Reads the whole table for every draw and says whether any of them equals an entry's high word.
struct Scan<'a> {
    high: &'a [i64],
    bits: &'a [u64],
    out: &'a mut [i64],
}

impl pulp::WithSimd for Scan<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> bool {
        let (strides, _) = self.high.as_chunks::<STRIDE>();
        let mut equal = 0;
        for (bits, out) in self.bits.chunks(LANES).zip(self.out.chunks_mut(LANES)) {
            let mut draws = [0; LANES];
            for (draw, bits) in draws.iter_mut().zip(bits) {
                *draw = (bits >> 1) as i64;
            }
            let mut below = [0; LANES];
            for stride in strides {
                for (below, &draw) in below.iter_mut().zip(&draws) {
                    for &entry in stride {
                        *below += i64::from(entry < draw);
                        equal += i64::from(entry == draw);
                    }
                }
            }
            for (out, (below, &bits)) in out.iter_mut().zip(below.into_iter().zip(bits)) {
                *out = signed(below, bits);
            }
        }
        equal != 0
    }
}

/// Applies the lowest bit as the sign. Without a branch, and zero stays zero: it is not counted
/// twice.
#[inline(always)]
fn signed(magnitude: i64, bits: u64) -> i64 {
    let sign = (bits & 1) as i64;
    (magnitude ^ -sign) + sign
}

/// value = mantissa 2^exponent, for a normal positive number.
fn binary(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    ((bits & ((1 << 52) - 1)) | 1 << 52, (bits >> 52) as i32 - 1075)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Golden: entries of the table by mpmath 1.3 with 400 bits, rounded to the nearest.
    #[test]
    fn the_table_is_right_to_its_last_bit() {
        type Golden = (f64, u128, usize, [(usize, u128); 3]);
        let golden: [Golden; 6] = [
            (
                0.3,
                1,
                4,
                [
                    (0, 0x7f049640f951cc8bfa680251beb2317f),
                    (2, 0x7fffffffffffffffff189e121c2f661b),
                    (3, 0x7fffffffffffffffffffffffffffffff),
                ],
            ),
            (
                1.0,
                1,
                13,
                [
                    (0, 0x33108a6312ee78d0fe046b3dc0008b11),
                    (6, 0x7ffffffff5f361e66d9d8b489a384bd9),
                    (12, 0x7fffffffffffffffffffffffffffffe5),
                ],
            ),
            (
                3.7,
                1,
                48,
                [
                    (0, 0x0dcd1e7ce1697776735e54e81ce8f846),
                    (24, 0x7fffffffeeea59fa3c2cc120019e1bc2),
                    (47, 0x7ffffffffffffffffffffffffffffff5),
                ],
            ),
            (
                10.0,
                1,
                131,
                [
                    (0, 0x051b410a5da476829cc23f433588b60a),
                    (65, 0x7fffffffe0f0a7b5ce8e29156d100619),
                    (130, 0x7fffffffffffffffffffffffffffffff),
                ],
            ),
            (
                20.0,
                1,
                262,
                [
                    (0, 0x028da0852ed23b414e611fa19ac45b05),
                    (131, 0x7fffffffe56019f80046927d2d4b1292),
                    (261, 0x7fffffffffffffffffffffffffffffff),
                ],
            ),
            (
                1000.0,
                8245,
                144,
                [
                    (0, 0x04a3033a13c4e1bf359782b505dcd943),
                    (72, 0x7fffffffe70f47840747f94d6d23104a),
                    (143, 0x7fffffffffffffffffffffffffffffff),
                ],
            ),
        ];
        for (sigma, ratio, length, entries) in golden {
            let table = Table::new(sigma, ratio);
            assert_eq!(table.low.len(), length, "sigma {sigma}");
            for (j, entry) in entries {
                let ours = (table.high[j] as u128) << 64 | u128::from(table.low[j]);
                assert_eq!(ours, entry, "sigma {sigma}, entry {j}");
            }
        }
    }

    #[test]
    fn the_table_agrees_with_double_precision_for_every_sigma() {
        for i in -100..=43 {
            let sigma = libm::exp2(f64::from(i) / 10.0);
            for ratio in [1, 485 * 17, 1_000_003] {
                let table = Table::new(sigma * (ratio as f64).sqrt(), ratio);
                let weight = |j: i32| libm::exp(-0.5 * (f64::from(j) / sigma).powi(2));
                let total = 1.0 + 2.0 * (1..400).map(weight).sum::<f64>();
                let mut sum = 1.0;
                for (j, &high) in table.high[..table.low.len()].iter().enumerate() {
                    let ours = high as f64 / libm::exp2(63.0);
                    assert!((ours - sum / total).abs() < 1e-13, "sigma {sigma}, entry {j}");
                    sum += 2.0 * weight(j as i32 + 1);
                }
                assert!((sum / total - 1.0).abs() < 1e-13, "sigma {sigma} is cut too early");
            }
        }
    }

    #[test]
    fn a_tie_is_decided_by_the_extension() {
        let table = Table::new(3.7, 1);
        for j in [0, 5, 20] {
            let tied = (table.high[j] as u64) << 1;
            let mut out = [0; 3];
            let low = table.low[j];
            table.sample(&[tied, tied | 1, 0], |i| [low - 1, low, 0][i], &mut out);
            assert_eq!(out, [j as i64, -(j as i64 + 1), 0]);
        }
    }

    #[test]
    fn the_scan_counts_the_entries_below() {
        let table = Table::new(2.0, 1);
        let bits: Vec<u64> = (0..1000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let mut out = vec![0; bits.len()];
        table.sample(&bits, |_| unreachable!("no tie among these"), &mut out);
        for (&bits, &x) in bits.iter().zip(&out) {
            let magnitude = table.magnitude((bits >> 1) as i64, 0);
            assert_eq!(x, if bits & 1 == 1 { -magnitude } else { magnitude });
        }
    }
}
