//! Features as they are read, with the bound on their norm enforced.

use undertone_model::dataset::Features;
use undertone_real::Real;

/// Collects records, each shortened to the bound before it is kept.
pub(crate) struct Rows<R> {
    /// The width of a dense record; sparse ones if there is none.
    dense: Option<usize>,
    values: Vec<R>,
    starts: Vec<usize>,
    columns: Vec<u32>,
    bound: Option<f64>,
    unit: bool,
    shortened: u64,
    scratch: Vec<f64>,
}

impl<R: Real> Rows<R> {
    /// Records with all their numbers.
    pub fn dense(width: usize, bound: Option<f64>, unit: bool) -> Self {
        Self { dense: Some(width), ..Self::sparse(bound, unit) }
    }

    /// Records with those of their numbers that are not zero.
    pub fn sparse(bound: Option<f64>, unit: bool) -> Self {
        Self {
            dense: None,
            values: Vec::new(),
            starts: vec![0],
            columns: Vec::new(),
            bound,
            unit,
            shortened: 0,
            scratch: Vec::new(),
        }
    }

    /// How many records were longer than the bound.
    pub fn shortened(&self) -> u64 {
        self.shortened
    }

    /// A record of numbers at increasing places; all others are zero.
    pub fn push(&mut self, entries: &[(u32, f64)]) -> Result<(), String> {
        let start = self.values.len();
        match self.dense {
            Some(width) => {
                self.values.resize(start + width, R::ZERO);
                for (column, value) in entries {
                    self.values[start + *column as usize] = narrow(*value)?;
                }
            }
            None => {
                for (column, value) in entries.iter().filter(|(_, value)| *value != 0.0) {
                    self.columns.push(*column);
                    self.values.push(narrow(*value)?);
                }
                self.starts.push(self.values.len());
            }
        }
        self.shorten(start);
        Ok(())
    }

    /// A record of all its numbers.
    pub fn push_all(&mut self, numbers: impl Iterator<Item = f64>) -> Result<(), String> {
        debug_assert!(self.dense.is_some(), "sparse records come with places");
        let start = self.values.len();
        for number in numbers {
            self.values.push(narrow(number)?);
        }
        self.shorten(start);
        Ok(())
    }

    /// A record of bytes, each standing for the number in the table.
    pub fn push_bytes(&mut self, bytes: &[u8], table: &[R; 256]) {
        debug_assert!(self.dense == Some(bytes.len()), "sparse records come with places");
        let start = self.values.len();
        self.values.extend(bytes.iter().map(|byte| table[usize::from(*byte)]));
        self.shorten(start);
    }

    /// All records; sparse ones are of this width.
    pub fn finish(self, width: usize) -> Features<R> {
        let Self { dense, values, starts, columns, .. } = self;
        match dense {
            Some(width) => Features::Dense { width, values },
            None => Features::Sparse { width, starts, columns, values },
        }
    }

    fn shorten(&mut self, start: usize) {
        let Some(bound) = self.bound else { return };
        let row = &mut self.values[start..];
        let norm = norm(row);
        let long = norm > bound;
        self.shortened += u64::from(long);
        if long || (self.unit && norm > 0.0) {
            fit(row, bound, &mut self.scratch);
        }
    }
}

/// Bytes as numbers from 0 to 1.
pub(crate) fn bytes_by_255<R: Real>() -> [R; 256] {
    std::array::from_fn(|byte| R::from_f64(byte as f64 / 255.0))
}

/// The L2 norm, in double precision.
pub(crate) fn norm<R: Real>(row: &[R]) -> f64 {
    row.iter().map(|value| value.to_f64().powi(2)).sum::<f64>().sqrt()
}

/// Scales a record to a norm that is the bound, or a hair less: it holds after rounding, in
/// whatever order somebody adds up the squares.
fn fit<R: Real>(row: &mut [R], bound: f64, scratch: &mut Vec<f64>) {
    // Relative to the largest, squares neither overflow nor vanish.
    let largest = row.iter().map(|value| value.to_f64().abs()).fold(0.0, f64::max);
    scratch.clear();
    scratch.extend(row.iter().map(|value| value.to_f64() / largest));
    let inside = bound * (1.0 - (row.len() + 4) as f64 * f64::EPSILON);
    let mut factor = inside / norm(scratch);
    let mut step = R::EPSILON.to_f64();
    loop {
        for (value, share) in row.iter_mut().zip(&*scratch) {
            *value = R::from_f64(share * factor);
        }
        if norm(row) <= inside {
            return;
        }
        factor *= 1.0 - step;
        step = (2.0 * step).min(0.5);
    }
}

fn narrow<R: Real>(value: f64) -> Result<R, String> {
    let narrowed = R::from_f64(value);
    if narrowed.is_finite() {
        return Ok(narrowed);
    }
    Err(format!("expected a finite number that fits the run's precision, found {value}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn long_records_are_shortened_and_counted() {
        let mut rows = Rows::<f32>::dense(2, Some(1.0), false);
        rows.push(&[(0, 3.0), (1, 4.0)]).expect("finite");
        rows.push(&[(1, 1.0)]).expect("finite");
        rows.push(&[(0, 0.5)]).expect("finite");
        assert_eq!(rows.shortened(), 1);
        let Features::Dense { values, .. } = rows.finish(2) else { panic!("dense") };
        assert!((values[0] - 0.6).abs() < 1e-6 && (values[1] - 0.8).abs() < 1e-6);
        assert_eq!(values[2..], [0.0, 1.0, 0.5, 0.0]);
    }

    #[test]
    fn unit_records_are_stretched_but_not_counted() {
        let mut rows = Rows::<f64>::sparse(Some(1.0), true);
        rows.push(&[(3, 0.25)]).expect("finite");
        rows.push(&[]).expect("finite");
        assert_eq!(rows.shortened(), 0);
        let Features::Sparse { values, starts, .. } = rows.finish(5) else { panic!("sparse") };
        assert!((values[0] - 1.0).abs() < 1e-14 && values[0] <= 1.0);
        assert_eq!(starts, [0, 1, 1]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(Rows::<f32>::dense(1, None, false).push(&[(0, 1e300)]).is_err());
        assert!(Rows::<f64>::dense(1, None, false).push(&[(0, f64::NAN)]).is_err());
    }

    proptest! {
        #[test]
        fn the_bound_holds_forwards_and_backwards(
            row in prop::collection::vec(-1e30_f64..1e30, 1..50),
            exponent in -300_i32..30,
        ) {
            let bound = 10_f64.powi(exponent);
            let mut single = Rows::<f32>::dense(row.len(), Some(bound), false);
            single.push_all(row.iter().copied()).expect("finite");
            let mut double = Rows::<f64>::dense(row.len(), Some(bound), false);
            double.push_all(row.iter().copied()).expect("finite");
            for ways in [both_ways(&single.values), both_ways(&double.values)] {
                prop_assert!(ways.iter().all(|norm| *norm <= bound), "{ways:?} > {bound}");
            }
        }
    }

    fn both_ways<R: Real>(row: &[R]) -> [f64; 2] {
        let back: Vec<R> = row.iter().rev().copied().collect();
        [norm(row), norm(&back)]
    }
}
