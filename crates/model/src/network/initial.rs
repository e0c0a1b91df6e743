//! Parameters to begin with.

use undertone_real::Real;

use super::Activation;
use super::program::{Op, Program};
use crate::synthetic::Source;

pub(super) fn initial<R: Real>(program: &Program, seed: u64) -> Vec<R> {
    let mut x = vec![R::ZERO; program.dimension];
    for (k, step) in program.steps.iter().enumerate() {
        match &step.op {
            Op::Linear(linear) => {
                let next = program.steps[k..].iter().find_map(|step| match step.op {
                    Op::Activation(activation) => Some(activation),
                    _ => None,
                });
                let gain = if next == Some(Activation::Relu) { 2.0 } else { 1.0 };
                // A uniform number within a bound has a third of its square as variance.
                let bound = (3.0 * gain / linear.depth as f64).sqrt();
                let weight = &mut x[linear.weight()];
                let numbers = Source::new(seed, k as u32).uniform(-bound, bound, weight.len());
                weight.iter_mut().zip(numbers).for_each(|(w, v)| *w = R::from_f64(v));
            }
            Op::GroupNorm(norm) => x[norm.scale()].fill(R::ONE),
            _ => {}
        }
    }
    x
}
