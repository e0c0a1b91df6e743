//! From numbers to places on a line.

/// One axis of a chart: linear or logarithmic, with round numbers marked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    log: bool,
}

impl Axis {
    /// Around the values that can be shown; nothing if there is none.
    pub(crate) fn around(values: impl Iterator<Item = f64>, log: bool) -> Option<Self> {
        let shown = values.filter(|v| is_shown(*v, log)).map(|v| if log { v.log10() } else { v });
        let (low, high) =
            shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        if low > high {
            return None;
        }
        // A single value still needs a line to be on.
        let spread = if high > low { 0.0 } else { low.abs().max(1.0) * 0.5 };
        Some(Self { low: low - spread, high: high + spread, log })
    }

    /// Where a value is, from 0 to 1; nothing if it cannot be shown.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let v = if self.log { value.log10() } else { value };
        is_shown(value, self.log).then(|| (v - self.low) / (self.high - self.low))
    }

    /// Wider by a share of its length at both ends, so that nothing is drawn on the rim.
    pub(crate) fn widened(self, share: f64) -> Self {
        let more = share * (self.high - self.low);
        Self { low: self.low - more, high: self.high + more, ..self }
    }

    /// About so many round numbers at most, and how they are written.
    pub(crate) fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        let most = most.clamp(3, 7) as f64;
        if self.log && self.high - self.low >= 1.0 {
            let step = ((self.high - self.low) / most).ceil().max(1.0);
            let first = (self.low / step).ceil() as i64;
            let last = (self.high / step + 1e-9).floor() as i64;
            let exponents = (first..=last).map(|k| k * step as i64);
            return exponents.map(|e| (10f64.powi(e as i32), power(e))).collect();
        }
        let (low, high) = if self.log {
            (10f64.powf(self.low), 10f64.powf(self.high))
        } else {
            (self.low, self.high)
        };
        let step = round_step((high - low) / (most - 2.0).max(3.0));
        let (first, last) =
            ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
        (first..=last).map(|k| k as f64 * step).map(|v| (v, plain(v, step))).collect()
    }
}

fn is_shown(value: f64, log: bool) -> bool {
    value.is_finite() && (!log || value > 0.0)
}

/// 1, 2 or 5 times a power of ten, at least as large.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= step * 0.999_999);
    factor.unwrap_or(10.0) * power
}

fn power(exponent: i64) -> String {
    match exponent {
        -2..=3 => plain(10f64.powi(exponent as i32), 10f64.powi(exponent as i32)),
        _ => format!("1e{exponent}"),
    }
}

fn plain(value: f64, step: f64) -> String {
    if value != 0.0 && !(1e-4..1e6).contains(&value.abs()) {
        return format!("{value:.1e}");
    }
    let places = (-(step.log10().floor())).max(0.0) as usize;
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_placed_in_proportion_or_by_decades() {
        let linear = Axis::around([2.0, 10.0, f64::NAN].into_iter(), false).unwrap();
        assert_eq!(linear.place(4.0), Some(0.25));
        let log = Axis::around([1e-4, 1.0, 0.0].into_iter(), true).unwrap();
        assert!((log.place(1e-3).unwrap() - 0.25).abs() < 1e-12);
        assert_eq!(log.place(0.0), None);
        assert_eq!(Axis::around([-1.0].into_iter(), true), None);
        assert_eq!(Axis::around([3.0].into_iter(), false).unwrap().place(3.0), Some(0.5));
    }

    #[test]
    fn ticks_are_round() {
        let words = |axis: Axis| axis.ticks(7).into_iter().map(|t| t.1).collect::<Vec<_>>();
        let linear = Axis::around([0.0, 950.0].into_iter(), false).unwrap();
        assert_eq!(words(linear), ["0", "200", "400", "600", "800"]);
        let small = Axis::around([0.0, 1.0].into_iter(), false).unwrap();
        assert_eq!(words(small), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        let log = Axis::around([1e-10, 1.0].into_iter(), true).unwrap();
        assert_eq!(words(log), ["1e-10", "1e-8", "1e-6", "1e-4", "0.01", "1"]);
        let narrow = Axis::around([0.5, 4.0].into_iter(), true).unwrap();
        assert_eq!(words(narrow), ["1", "2", "3", "4"]);
    }
}
