//! From derivatives to the sum of clipped gradients.

use undertone_matrix::vector;
use undertone_real::Real;

use super::super::elementwise;
use super::super::linear::Tools;
use super::super::plan::MOST_RECORDS;
use super::super::program::Op;
use super::{Group, disjoint, row};
use crate::clip::clip_factor;
use crate::objective::Clipped;
use crate::table::Table;

impl<R: Real> Group<'_, R> {
    /// Shortens what is kept and what products wait for, and leaves out what is not finite.
    pub(super) fn scale(&mut self, norms: &[f64], clip: f64, clipped: &mut Clipped) {
        // Sums of squares round, by less than this for all parameters together.
        let slack = 1.0 + 4.0 * (self.program.dimension + 16) as f64 * f64::EPSILON;
        if self.rows.is_some() && norms[..self.records].iter().any(|norm| !norm.is_finite()) {
            // What is not finite is to be left out, which is done in memory.
            self.rows = None;
            self.load();
        }
        let mut factors = [R::ONE; MOST_RECORDS];
        for (r, (norm, to)) in norms[..self.records].iter().zip(&mut factors).enumerate() {
            let Some(factor) = clip_factor::<R>(norm * slack, clip, clipped) else {
                self.leave_out(r);
                continue;
            };
            *to = R::from_f64(factor);
        }
        for place in self.plan.scaled.iter().chain(&self.plan.kept) {
            let rows = &mut self.memory[place.range(self.records)];
            elementwise::scale_rows(&factors[..self.records], rows);
        }
    }

    /// Makes the gradient of a record zero.
    fn leave_out(&mut self, r: usize) {
        for place in self.plan.scaled.iter().chain(&self.plan.kept) {
            row(self.memory, *place, self.records, r).fill(R::ZERO);
        }
        // Zero times what is not finite would not be zero.
        for place in self.plan.inputs.iter().chain(&self.plan.values[..1]) {
            let row = row(self.memory, *place, self.records, r);
            row.iter_mut().filter(|v| !v.is_finite()).for_each(|v| *v = R::ZERO);
        }
    }

    /// Writes or adds the sum of all gradients; that of the layer which reads the records where
    /// they lie, if there is one, as `of_rows` says, or not at all.
    pub(super) fn add(&mut self, out: &mut [R], add: bool, of_rows: Option<bool>) {
        let (n, reads_rows) = (self.records, self.reads_rows());
        for (k, step) in self.program.steps.iter().enumerate() {
            let kept = self.plan.kept[k];
            let add = match (reads_rows == Some(k), of_rows) {
                (false, _) => add,
                (true, Some(add)) => add,
                (true, None) => continue,
            };
            let start = match &step.op {
                Op::Linear(linear) if self.plan.deferred[k] => {
                    let input = self.plan.values[step.from].range(n);
                    let above = self.plan.derivatives[step.to].range(n);
                    let [input, above] = disjoint(self.memory, [input, above]);
                    let gradient = &mut out[linear.weight()];
                    let in_memory = || linear.patches.is_none().then(|| linear.matrix(input));
                    match self.rows.filter(|_| step.from == 0).or_else(in_memory) {
                        Some(rows) => {
                            let (packing, threads) = (&mut *self.packing, &mut *self.threads);
                            linear.gradient_on(threads, rows, above, gradient, add, packing);
                        }
                        None => {
                            let tools = Tools { workspace: self.workspace, packing: self.packing };
                            linear.gradient(input, above, gradient, add, tools);
                        }
                    }
                    if linear.rows == 1 {
                        if !add {
                            out[linear.biases()].fill(R::ZERO);
                        }
                        elementwise::add_rows(above, &mut out[linear.biases()]);
                    }
                    linear.biases().start
                }
                Op::Linear(linear) => linear.offset,
                Op::GroupNorm(norm) => norm.offset,
                _ => continue,
            };
            if kept.size == 0 {
                continue;
            }
            let out = &mut out[start..start + kept.size];
            for r in 0..n {
                let gradient = row(self.memory, kept, n, r);
                if add || r > 0 {
                    vector::add_scaled(R::ONE, gradient, out);
                } else {
                    out.copy_from_slice(gradient);
                }
            }
        }
    }

    /// Puts what is in memory into the table, and the negative of what was there into memory. The
    /// layer that reads the records where they lie has the same input as before, so one product
    /// with the difference does: that is what its derivatives become.
    pub(super) fn swap(&mut self, table: &mut Table<R>) {
        let reads_rows = self.reads_rows();
        let of_rows = reads_rows.map(|k| self.plan.derivatives[self.program.steps[k].to]);
        for r in 0..self.records {
            let mut entry = table.entry_mut(self.batch.record(self.start + r));
            for place in self.plan.entries() {
                let (part, rest) = entry.split_at_mut(place.size);
                let new = row(self.memory, place, self.records, r);
                if Some(place) == of_rows {
                    for (new, kept) in new.iter_mut().zip(part) {
                        let old = std::mem::replace(kept, *new);
                        *new -= old;
                    }
                } else {
                    new.swap_with_slice(part);
                }
                entry = rest;
            }
        }
        for place in self.plan.scaled.iter().chain(&self.plan.kept) {
            if Some(*place) != of_rows {
                self.at_mut(*place).iter_mut().for_each(|v| *v = -*v);
            }
        }
    }

    /// The layer that reads the records where they lie, if it is the only one that does and its
    /// products wait for clipping.
    fn reads_rows(&self) -> Option<usize> {
        let mut readers =
            (0..self.program.steps.len()).filter(|k| self.program.steps[*k].from == 0);
        let (first, second) = (readers.next().filter(|_| self.rows.is_some())?, readers.next());
        let waits =
            self.plan.deferred[first] && matches!(self.program.steps[first].op, Op::Linear(_));
        (second.is_none() && waits).then_some(first)
    }
}
