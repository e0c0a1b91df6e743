//! Numbers that fit in some bits: multiples of a public step.

use undertone_graph::NodeId;
use undertone_real::Real;

use crate::sparsify::PublicBits;

/// The multiples of a step that a signed number of some bits counts, from `-farthest` to
/// `farthest`: as many above zero as below, so one pattern of bits stays unused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lattice {
    step: f64,
    bits: u32,
}

/// Numbers that make no lattice.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a lattice has a step between 1e-30 and 1e30 and 2 to 24 bits, not {step} and {bits}")]
pub struct NotALattice {
    /// The step that was asked for.
    pub step: f64,
    /// The bits that were asked for.
    pub bits: u32,
}

impl Lattice {
    /// At most 24 bits: beyond that a multiple of the step is no single-precision number of its
    /// own.
    pub fn new(step: f64, bits: u32) -> Result<Self, NotALattice> {
        let fits = (1e-30..=1e30).contains(&step) && (2..=24).contains(&bits);
        if fits { Ok(Self { step, bits }) } else { Err(NotALattice { step, bits }) }
    }

    /// The distance of neighbouring points.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// How many bits a number takes.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// How many points there are on each side of zero.
    pub fn farthest(&self) -> i64 {
        (1 << (self.bits - 1)) - 1
    }

    /// The point with a number.
    pub fn point<R: Real>(&self, index: i64) -> R {
        R::from_f64(index as f64 * self.step)
    }

    /// The number of a point; none for a value that is not on the lattice.
    pub fn index<R: Real>(&self, value: R) -> Option<i64> {
        let index = (value.to_f64() / self.step).round_ties_even() as i64;
        let on = self.point::<R>(index) == value && index.abs() <= self.farthest();
        on.then_some(index)
    }

    /// The unbiased quantiser: up to the next point with the chance that makes the mean right, by
    /// uniforms that everybody can compute. What is farther than the last point becomes the last.
    ///
    /// # References
    ///
    /// Ding (paper 000), section 5, with a symmetric range as in theory 3.1.
    pub fn quantise<R: Real>(&self, values: &mut [R], seed: u64, node: NodeId, round: u64) {
        let mut bits = PublicBits::new(seed, node, round, QUANTISER);
        for value in values {
            let steps = value.to_f64() / self.step;
            *value = self.saturated((steps + bits.uniform()).floor());
        }
    }

    /// To the nearest point.
    pub fn round<R: Real>(&self, values: &mut [R]) {
        for value in values {
            *value = self.saturated((value.to_f64() / self.step).round_ties_even());
        }
    }

    fn saturated<R: Real>(&self, steps: f64) -> R {
        // The conversion saturates, and takes what is not a number as zero.
        self.point((steps as i64).clamp(-self.farthest(), self.farthest()))
    }
}

/// The lane of the quantiser among public bits.
const QUANTISER: u64 = 0x51;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lattice_is_symmetric_and_checked() {
        let lattice = Lattice::new(0.25, 3).unwrap();
        assert_eq!(lattice.farthest(), 3);
        assert_eq!((lattice.index(0.75_f64), lattice.index(1.0_f64)), (Some(3), None));
        assert_eq!((lattice.index(-0.75_f32), lattice.index(0.3_f32)), (Some(-3), None));
        assert_eq!(lattice.index(f64::NAN), None);
        for (step, bits) in [(0.0, 8), (f64::NAN, 8), (1.0, 1), (1.0, 25), (f64::INFINITY, 3)] {
            assert!(Lattice::new(step, bits).is_err());
        }
    }

    #[test]
    fn every_point_has_its_number_in_both_precisions() {
        for (step, bits) in [(0.1, 24), (1e-30, 24), (1e30, 24), (0.3, 5)] {
            let lattice = Lattice::new(step, bits).unwrap();
            for index in [0, 1, 7, lattice.farthest() - 1, lattice.farthest()] {
                for index in [index, -index].map(|i| i % (lattice.farthest() + 1)) {
                    assert_eq!(lattice.index(lattice.point::<f32>(index)), Some(index));
                    assert_eq!(lattice.index(lattice.point::<f64>(index)), Some(index));
                }
            }
        }
    }

    /// Mean within 5.6 standard errors: a false alarm in 1e7 seeds, and the seed is fixed.
    #[test]
    fn the_quantiser_is_unbiased_and_saturates() {
        let lattice = Lattice::new(0.5, 4).unwrap();
        let (n, x) = (100_000, 0.65);
        let mut values = vec![x; n];
        lattice.quantise(&mut values, 3, NodeId(1), 5);
        assert!(values.iter().all(|v| *v == 0.5 || *v == 1.0));
        let mean = values.iter().sum::<f64>() / n as f64;
        let error = (0.15 * 0.35 / n as f64).sqrt();
        assert!((mean - x).abs() < 5.6 * error, "{mean}");
        let mut far = [1e9, -1e9, f64::INFINITY, f64::NAN, 0.0, -1.5];
        lattice.quantise(&mut far, 3, NodeId(1), 5);
        assert_eq!(far, [3.5, -3.5, 3.5, 0.0, 0.0, -1.5]);
        lattice.round(&mut far);
        assert_eq!(far, [3.5, -3.5, 3.5, 0.0, 0.0, -1.5]);
    }
}
