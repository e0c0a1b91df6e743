//! From derivatives to the sum of clipped gradients.

use undertone_matrix::{Mat, vector};
use undertone_real::Real;

use super::super::elementwise;
use super::super::linear::Tools;
use super::super::plan::{MOST_RECORDS, Plan};
use super::super::program::{Op, Program};
use super::{Group, row};
use crate::clip::clip_factor;
use crate::objective::{Clipped, Scratch};
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
        let reads_rows = self.reads_rows();
        let (done, mut tools, threads) = self.done();
        for (k, step) in done.program.steps.iter().enumerate() {
            let add = match (reads_rows == Some(k), of_rows) {
                (false, _) => add,
                (true, Some(add)) => add,
                (true, None) => continue,
            };
            done.add_step(k, &mut out[step.parameters()], add, tools.again(), threads);
        }
    }

    /// What is to be read now, what computes, and the memory of other threads.
    pub(super) fn done(&mut self) -> (Done<'_, R>, Tools<'_, R>, &mut [Scratch<R>]) {
        let Self { program, plan, records, rows, memory, workspace, packing, threads, .. } = self;
        let (records, rows) = (*records, *rows);
        (Done { program, plan, records, rows, memory }, Tools { workspace, packing }, threads)
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

/// A group whose derivatives are clipped.
#[derive(Clone, Copy)]
pub(super) struct Done<'a, R> {
    pub(super) program: &'a Program,
    plan: &'a Plan,
    records: usize,
    rows: Option<Mat<'a, R>>,
    memory: &'a [R],
}

impl<R: Real> Done<'_, R> {
    /// Writes or adds the sum of all gradients by the parameters of a step.
    pub(super) fn add_step(
        &self,
        k: usize,
        out: &mut [R],
        add: bool,
        tools: Tools<'_, R>,
        threads: &mut [Scratch<R>],
    ) {
        let (n, step, kept) = (self.records, &self.program.steps[k], self.plan.kept[k]);
        let mut of_kept = out;
        if let Op::Linear(linear) = &step.op
            && self.plan.deferred[k]
        {
            let (gradient, biases) = of_kept.split_at_mut(linear.weights());
            let input = &self.memory[self.plan.values[step.from].range(n)];
            let above = &self.memory[self.plan.derivatives[step.to].range(n)];
            let in_memory = || linear.patches.is_none().then(|| linear.matrix(input));
            match self.rows.filter(|_| step.from == 0).or_else(in_memory) {
                Some(rows) => {
                    linear.gradient_on(threads, rows, above, gradient, add, tools.packing);
                }
                None => linear.gradient(input, above, gradient, add, tools),
            }
            if linear.rows == 1 {
                if !add {
                    biases.fill(R::ZERO);
                }
                elementwise::add_rows(above, biases);
            }
            of_kept = biases;
        }
        if kept.size == 0 {
            return;
        }
        let gradients = self.memory[kept.range(n)].chunks_exact(kept.size);
        for (r, gradient) in gradients.enumerate() {
            if add || r > 0 {
                vector::add_scaled(R::ONE, gradient, of_kept);
            } else {
                of_kept.copy_from_slice(gradient);
            }
        }
    }
}
