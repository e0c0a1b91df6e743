//! Fixed-point numbers with 192 fractional bits, for building tables.

/// A number in [0, 2^64) in steps of 2^-192; limbs from low to high.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fixed([u64; 4]);

/// Arguments from here on have an exponential below one step: exp(-134) < 2^-193.
const EXPONENT_LIMIT: u64 = 134;

impl Fixed {
    pub(super) const ZERO: Self = Self([0; 4]);
    pub(super) const ONE: Self = Self([0, 0, 0, 1]);

    /// numerator 2^shift / divisor, rounded down.
    ///
    /// The divisor must be below 2^127, and the quotient below 2^64.
    pub(super) fn ratio(numerator: u128, shift: i32, divisor: u128) -> Self {
        // Long division: the numerator's bits, then as many zeros as the shift asks for.
        let digits = 128 + shift + 192;
        let mut quotient = Self::ZERO;
        let mut remainder = 0_u128;
        for i in 0..digits {
            let bit = if i < 128 { numerator >> (127 - i) & 1 } else { 0 };
            remainder = remainder << 1 | bit;
            let fits = remainder >= divisor;
            if fits {
                remainder -= divisor;
            }
            quotient = quotient.doubled();
            quotient.0[0] |= u64::from(fits);
        }
        quotient
    }

    pub(super) fn plus(self, other: Self) -> Self {
        let mut carry = false;
        Self(std::array::from_fn(|i| {
            let (sum, first) = self.0[i].overflowing_add(other.0[i]);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            carry = first | second;
            sum
        }))
    }

    pub(super) fn minus(self, other: Self) -> Self {
        let mut borrow = false;
        Self(std::array::from_fn(|i| {
            let (difference, first) = self.0[i].overflowing_sub(other.0[i]);
            let (difference, second) = difference.overflowing_sub(u64::from(borrow));
            borrow = first | second;
            difference
        }))
    }

    pub(super) fn doubled(self) -> Self {
        self.plus(self)
    }

    /// The product, rounded down. It must be below 2^64.
    pub(super) fn times(self, other: Self) -> Self {
        let mut wide = [0_u64; 8];
        for (i, &a) in self.0.iter().enumerate() {
            let mut carry = 0;
            for (j, &b) in other.0.iter().enumerate() {
                let sum = u128::from(a) * u128::from(b) + u128::from(wide[i + j]) + carry;
                wide[i + j] = sum as u64;
                carry = sum >> 64;
            }
            wide[i + 4] = carry as u64;
        }
        Self([wide[3], wide[4], wide[5], wide[6]])
    }

    /// exp(-self), with an error below 2^-170.
    pub(super) fn exp_neg(self) -> Self {
        if self.0[3] >= EXPONENT_LIMIT {
            return Self::ZERO;
        }
        // exp(-x) = exp(-x / 2^h)^(2^h) with x / 2^h below 2^-8. Each squaring at most doubles the
        // error and adds a step; h is at most 16.
        let mut x = self;
        let mut squarings = 0;
        while x.0[3] > 0 || x.0[2] >= 1 << 56 {
            x = x.halved();
            squarings += 1;
        }
        // 20 terms of Taylor's series: the next is below 2^-168 / 21! < 2^-193. Each rounds by at
        // most two steps, and halving lost less than one.
        let (mut sum, mut term) = (Self::ONE, Self::ONE);
        for n in 1..=20 {
            term = term.times(x).divided_by(n);
            sum = if n % 2 == 1 { sum.minus(term) } else { sum.plus(term) };
        }
        for _ in 0..squarings {
            sum = sum.times(sum);
        }
        sum
    }

    /// 2^127 self / divisor, rounded to the nearest integer. Self must not exceed the divisor.
    pub(super) fn scaled_ratio(self, divisor: Self) -> u128 {
        let mut remainder = self;
        let mut quotient = 0_u128;
        for _ in 0..128 {
            quotient <<= 1;
            if remainder.at_least(divisor) {
                remainder = remainder.minus(divisor);
                quotient |= 1;
            }
            remainder = remainder.doubled();
        }
        quotient + u128::from(remainder.at_least(divisor))
    }

    fn at_least(self, other: Self) -> bool {
        self.0.iter().rev().cmp(other.0.iter().rev()).is_ge()
    }

    fn halved(self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] >> 1 | if i < 3 { self.0[i + 1] << 63 } else { 0 }))
    }

    fn divided_by(self, divisor: u64) -> Self {
        let mut quotient = [0; 4];
        let mut remainder = 0_u128;
        for i in (0..4).rev() {
            let value = remainder << 64 | u128::from(self.0[i]);
            quotient[i] = (value / u128::from(divisor)) as u64;
            remainder = value % u128::from(divisor);
        }
        Self(quotient)
    }
}
