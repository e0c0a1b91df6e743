//! What is known of second derivatives: a factor from some earlier point, and differences of
//! gradients since.

use std::collections::VecDeque;

use undertone_matrix::{Packing, vector};

use super::Solver;
use super::cholesky::Cholesky;

/// An approximation of the inverse of the second derivatives.
pub(super) struct Curvature {
    dimension: usize,
    /// Whether second derivatives are factored at all.
    factored: bool,
    /// Of the data's part, from an earlier point; none if there are too many parameters.
    hessian: Option<Vec<f64>>,
    /// With this quadratic term.
    factor: Option<(f64, Cholesky)>,
    pairs: VecDeque<Pair>,
}

/// A step, and how it changed the gradient of the data's part.
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
}

/// Pairs that are kept.
const PAIRS: usize = 12;

impl Curvature {
    pub(super) fn new(dimension: usize) -> Self {
        let factored = dimension <= Solver::FACTORED;
        Self { dimension, factored, hessian: None, factor: None, pairs: VecDeque::new() }
    }

    #[cfg(test)]
    pub(super) fn unfactored(dimension: usize) -> Self {
        Self { factored: false, ..Self::new(dimension) }
    }

    /// Whether it should be renewed before its first use.
    pub(super) fn is_missing(&self) -> bool {
        self.factored && self.hessian.is_none()
    }

    /// With the second derivatives of the present point, if they are not too many.
    pub(super) fn renew(&mut self, write: impl FnOnce(&mut [f64])) {
        if !self.factored {
            return;
        }
        let size = self.dimension * self.dimension;
        write(self.hessian.get_or_insert_with(|| vec![0.0; size]));
        self.factor = None;
        self.pairs.clear();
    }

    /// Remembers how the gradient of the data's part changed.
    pub(super) fn learn(&mut self, x: &[f64], g: &[f64], next_x: &[f64], next_g: &[f64]) {
        let difference = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect();
        let (step, change) = (difference(next_x, x), difference(next_g, g));
        if self.pairs.len() == PAIRS {
            self.pairs.pop_front();
        }
        self.pairs.push_back(Pair { step, change });
    }

    /// `-B^-1 gradient`, where `B` approximates the second derivatives and the quadratic term.
    pub(super) fn newton_step(
        &mut self,
        gradient: &[f64],
        quadratic: f64,
        packing: &mut Packing<f64>,
    ) -> Vec<f64> {
        if let Some(hessian) = &self.hessian
            && self.factor.as_ref().is_none_or(|(of, _)| *of != quadratic)
        {
            let factor = Cholesky::new(hessian, self.dimension, quadratic, packing);
            self.factor = factor.map(|factor| (quadratic, factor));
        }
        let mut step: Vec<f64> = gradient.iter().map(|g| -g).collect();
        // Nocedal and Wright, algorithm 7.4. A pair's curvature is at least the quadratic term.
        let mut used = Vec::with_capacity(self.pairs.len());
        for pair in self.pairs.iter().rev() {
            let changed: Vec<f64> =
                pair.change.iter().zip(&pair.step).map(|(c, s)| c + quadratic * s).collect();
            let curvature = vector::dot(&pair.step, &changed);
            let bends = curvature > 0.5 * quadratic * vector::squared_norm(&pair.step);
            if !bends {
                continue;
            }
            let share = vector::dot(&pair.step, &step) / curvature;
            vector::add_scaled(-share, &changed, &mut step);
            used.push((pair, changed, curvature, share));
        }
        match &self.factor {
            Some((_, factor)) => factor.solve(&mut step),
            None => {
                let scale = used.first().map_or(1.0 / quadratic, |(_, changed, curvature, _)| {
                    curvature / vector::squared_norm(changed)
                });
                step.iter_mut().for_each(|v| *v *= scale);
            }
        }
        for (pair, changed, curvature, share) in used.iter().rev() {
            let back = vector::dot(changed, &step) / curvature;
            vector::add_scaled(share - back, &pair.step, &mut step);
        }
        step
    }
}
