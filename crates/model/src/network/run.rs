//! Records through a network, forwards and backwards.

use std::ops::Range;

use undertone_matrix::vector;
use undertone_real::Real;

use super::elementwise;
use super::group_norm;
use super::linear::{Linear, Tools};
use super::plan::{MOST_RECORDS, Place, Plan};
use super::program::{Op, Program};
use crate::clip::clip_factor;
use crate::loss::Loss;
use crate::objective::{Batch, Clipped, Scratch};
use crate::table::Table;

/// Calls with the position of a record in the batch and the scores from it on.
pub(super) fn forward<R: Real>(
    program: &Program,
    plan: &Plan,
    x: &[R],
    batch: Batch<'_, R>,
    scratch: &mut Scratch<R>,
    mut visit: impl FnMut(usize, &[R]),
) {
    for group in groups(batch.len(), plan) {
        let start = group.start;
        let mut group = Group::new(program, plan, x, group, scratch);
        group.load(batch);
        group.forward();
        let scores = plan.values[program.scores()];
        visit(start, group.at(scores));
    }
}

/// Writes the sum of clipped gradients, less those of a table if there is one, which takes them.
#[expect(clippy::too_many_arguments, reason = "what an objective is asked with, and its parts")]
pub(super) fn clipped<R: Real>(
    program: &Program,
    plan: &Plan,
    loss: Loss,
    x: &[R],
    batch: Batch<'_, R>,
    clip: f64,
    mut table: Option<&mut Table<R>>,
    scratch: &mut Scratch<R>,
    out: &mut [R],
) -> Clipped {
    let mut clipped = Clipped::default();
    if batch.is_empty() {
        out.fill(R::ZERO);
    }
    for group in groups(batch.len(), plan) {
        let start = group.start;
        let mut group = Group::new(program, plan, x, group, scratch);
        group.load(batch);
        group.forward();
        let mut norms = [0.0; MOST_RECORDS];
        group.losses(loss, batch);
        group.backward(&mut norms);
        group.scale(&norms, clip, &mut clipped);
        group.add(out, start > 0);
        if let Some(table) = &mut table {
            group.swap(batch, table);
            group.add(out, true);
        }
    }
    clipped
}

/// Records that are in memory together.
struct Group<'a, R> {
    program: &'a Program,
    plan: &'a Plan,
    x: &'a [R],
    /// Where they start in the batch.
    start: usize,
    records: usize,
    memory: &'a mut [R],
    workspace: &'a mut [R],
    packing: &'a mut undertone_matrix::Packing<R>,
}

impl<'a, R: Real> Group<'a, R> {
    fn new(
        program: &'a Program,
        plan: &'a Plan,
        x: &'a [R],
        group: Range<usize>,
        scratch: &'a mut Scratch<R>,
    ) -> Self {
        assert_eq!(x.len(), program.dimension, "as many parameters as the network has");
        let (start, records) = (group.start, group.len());
        let (memory, packing) = scratch.take(plan.size * records + plan.workspace);
        let (workspace, memory) = memory.split_at_mut(plan.workspace);
        Self { program, plan, x, start, records, memory, workspace, packing }
    }

    fn at(&self, place: Place) -> &[R] {
        &self.memory[place.range(self.records)]
    }

    fn at_mut(&mut self, place: Place) -> &mut [R] {
        &mut self.memory[place.range(self.records)]
    }

    /// Images lie channel by channel in a data set and pixel by pixel here.
    fn load(&mut self, batch: Batch<'_, R>) {
        let [channels, pixels] = self.program.input;
        let (start, place, workspace) = (self.start, self.plan.values[0], &mut *self.workspace);
        let rows = self.memory[place.range(self.records)].chunks_exact_mut(channels * pixels);
        for (k, row) in rows.enumerate() {
            let record = batch.record(start + k);
            if channels == 1 || pixels == 1 {
                batch.data().write_row(record, row);
                continue;
            }
            let image = match batch.data().dense_row(record) {
                Some(image) => image,
                None => {
                    let image = &mut workspace[..channels * pixels];
                    batch.data().write_row(record, image);
                    &*image
                }
            };
            for (channel, image) in image.chunks_exact(pixels).enumerate() {
                let row = row[channel..].iter_mut().step_by(channels);
                row.zip(image).for_each(|(to, from)| *to = *from);
            }
        }
    }

    fn forward(&mut self) {
        let n = self.records;
        for (k, step) in self.program.steps.iter().enumerate() {
            let [from, to] = [step.from, step.to].map(|v| self.plan.values[v].range(n));
            let memory = self.plan.memory[k].range(n);
            match &step.op {
                Op::Linear(linear) => {
                    let [input, output] = disjoint(self.memory, [from, to]);
                    let tools = Tools { workspace: self.workspace, packing: self.packing };
                    linear.forward(self.x, input, output, tools);
                }
                Op::Activation(activation) => {
                    let [input, output] = disjoint(self.memory, [from, to]);
                    activation.forward(input, output);
                }
                Op::MaxPool(pool) => {
                    let [input, output] = disjoint(self.memory, [from, to]);
                    pool.forward(input, output);
                }
                Op::AveragePool(pool) => {
                    let [input, output] = disjoint(self.memory, [from, to]);
                    pool.forward(input, output);
                }
                Op::GroupNorm(norm) => {
                    let [input, output, memory] = disjoint(self.memory, [from, to, memory]);
                    let size = norm.channels * norm.pixels;
                    for r in 0..n {
                        let pass = group_norm::Forward {
                            input: &input[r * size..][..size],
                            output: &mut output[r * size..][..size],
                            memory: &mut memory[r * norm.memory()..][..norm.memory()],
                            workspace: self.workspace,
                        };
                        norm.forward(self.x, pass);
                    }
                }
                Op::Add { with, .. } => {
                    let with = self.plan.values[*with].range(n);
                    let [a, b, sum] = disjoint(self.memory, [from, with, to]);
                    elementwise::sum(a, b, sum);
                }
            }
        }
    }

    /// Leaves the derivatives of the losses by the scores.
    fn losses(&mut self, loss: Loss, batch: Batch<'_, R>) {
        let scores = self.program.scores();
        let outputs = self.program.outputs();
        let ranges = [self.plan.values[scores], self.plan.derivatives[scores]]
            .map(|place| place.range(self.records));
        let [scores, derivatives] = disjoint(self.memory, ranges);
        let rows = scores.chunks_exact(outputs).zip(derivatives.chunks_exact_mut(outputs));
        for (k, (scores, derivative)) in rows.enumerate() {
            loss.with_derivative(scores, batch.target(self.start + k), derivative);
        }
    }

    /// Adds to each record's bound of the squared norm of its gradient.
    fn backward(&mut self, norms: &mut [f64]) {
        let n = self.records;
        for (k, step) in self.program.steps.iter().enumerate().rev() {
            let [from, to] = [step.from, step.to].map(|v| self.plan.values[v].range(n));
            let [below, above] = [step.from, step.to].map(|v| self.plan.derivatives[v].range(n));
            let has_below = step.from > 0;
            let [kept, memory] = [self.plan.kept[k], self.plan.memory[k]].map(|p| p.range(n));
            match &step.op {
                Op::Linear(linear) => {
                    let [input, above, kept] = disjoint(self.memory, [from, above, kept]);
                    let tools = Tools { workspace: self.workspace, packing: self.packing };
                    let deferred = self.plan.deferred[k];
                    gradients(linear, deferred, n, input, above, kept, norms, tools);
                    if has_below {
                        let above = self.plan.derivatives[step.to].range(n);
                        let [above, below] = disjoint(self.memory, [above, below]);
                        let tools = Tools { workspace: self.workspace, packing: self.packing };
                        linear.backward(self.x, above, below, step.adds, tools);
                    }
                }
                Op::GroupNorm(norm) => {
                    let [input, above, below, kept, memory] =
                        disjoint(self.memory, [from, above, below, kept, memory]);
                    let size = norm.channels * norm.pixels;
                    for r in 0..n {
                        let range = r * size..(r + 1) * size;
                        let gradient = &mut kept[r * norm.count()..][..norm.count()];
                        let pass = group_norm::Backward {
                            input: &input[range.clone()],
                            memory: &memory[r * norm.memory()..][..norm.memory()],
                            above: &above[range.clone()],
                            below: has_below.then(|| &mut below[range]),
                            add: step.adds,
                            gradient: &mut *gradient,
                            workspace: self.workspace,
                        };
                        norm.backward(self.x, pass);
                        norms[r] += vector::squared_norm(gradient);
                    }
                }
                Op::Add { with, alone: false, adds } if *with > 0 => {
                    let with = self.plan.derivatives[*with].range(n);
                    let [above, with] = disjoint(self.memory, [above, with]);
                    if *adds {
                        vector::add_scaled(R::ONE, above, with);
                    } else {
                        with.copy_from_slice(above);
                    }
                }
                Op::Add { .. } => {}
                _ if !has_below => {}
                Op::Activation(activation) => {
                    let [output, above, below] = disjoint(self.memory, [to, above, below]);
                    activation.backward(output, above, below, step.adds);
                }
                Op::MaxPool(pool) => {
                    let [input, output, above, below] =
                        disjoint(self.memory, [from, to, above, below]);
                    if !step.adds {
                        below.fill(R::ZERO);
                    }
                    pool.backward(input, output, above, below, self.workspace);
                }
                Op::AveragePool(pool) => {
                    let [above, below] = disjoint(self.memory, [above, below]);
                    if !step.adds {
                        below.fill(R::ZERO);
                    }
                    pool.backward(above, below);
                }
            }
        }
    }

    /// Shortens what is kept and what products wait for, and leaves out what is not finite.
    fn scale(&mut self, norms: &[f64], clip: f64, clipped: &mut Clipped) {
        // Sums of squares round, by less than this for all parameters together.
        let slack = 1.0 + 4.0 * (self.program.dimension + 16) as f64 * f64::EPSILON;
        for (r, norm) in norms[..self.records].iter().enumerate() {
            let factor = clip_factor::<R>(norm * slack, clip, clipped);
            if factor == Some(1.0) {
                continue;
            }
            for place in self.plan.scaled.iter().chain(&self.plan.kept) {
                let row = row(self.memory, *place, self.records, r);
                match factor {
                    Some(factor) => elementwise::scale(R::from_f64(factor), row),
                    None => row.fill(R::ZERO),
                }
            }
            if factor.is_none() {
                // Zero times what is not finite would not be zero.
                for place in self.plan.inputs.iter().chain(&self.plan.values[..1]) {
                    let row = row(self.memory, *place, self.records, r);
                    row.iter_mut().filter(|v| !v.is_finite()).for_each(|v| *v = R::ZERO);
                }
            }
        }
    }

    /// Writes or adds the sum of all gradients.
    fn add(&mut self, out: &mut [R], add: bool) {
        let n = self.records;
        for (k, step) in self.program.steps.iter().enumerate() {
            let kept = self.plan.kept[k];
            let start = match &step.op {
                Op::Linear(linear) if self.plan.deferred[k] => {
                    let input = self.plan.values[step.from].range(n);
                    let above = self.plan.derivatives[step.to].range(n);
                    let [input, above] = disjoint(self.memory, [input, above]);
                    let tools = Tools { workspace: self.workspace, packing: self.packing };
                    linear.gradient(input, above, &mut out[linear.weight()], add, tools);
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

    /// Puts what is in memory into the table, and the negative of what was there into memory.
    fn swap(&mut self, batch: Batch<'_, R>, table: &mut Table<R>) {
        for r in 0..self.records {
            let mut entry = table.entry_mut(batch.record(self.start + r));
            for place in self.plan.entries() {
                let (part, rest) = entry.split_at_mut(place.size);
                row(self.memory, place, self.records, r).swap_with_slice(part);
                entry = rest;
            }
        }
        for place in self.plan.scaled.iter().chain(&self.plan.kept) {
            self.at_mut(*place).iter_mut().for_each(|v| *v = -*v);
        }
    }
}

/// Groups of nearly equal size.
fn groups(records: usize, plan: &Plan) -> impl Iterator<Item = Range<usize>> {
    let size = records.div_ceil(records.div_ceil(plan.records).max(1)).max(1);
    (0..records).step_by(size).map(move |start| start..records.min(start + size))
}

/// Computes what a linear step keeps of each record, and the bounds of its norms.
#[expect(clippy::too_many_arguments, reason = "what a layer has to do with")]
fn gradients<R: Real>(
    linear: &Linear,
    deferred: bool,
    records: usize,
    input: &[R],
    above: &[R],
    kept: &mut [R],
    norms: &mut [f64],
    tools: Tools<'_, R>,
) {
    let [input_size, above_size, size] =
        [input.len(), above.len(), kept.len()].map(|n| n / records);
    for (r, norm) in norms.iter_mut().enumerate().take(records) {
        let input = &input[r * input_size..][..input_size];
        let above = &above[r * above_size..][..above_size];
        let kept = &mut kept[r * size..][..size];
        let tools = Tools { workspace: &mut *tools.workspace, packing: &mut *tools.packing };
        let biases = if deferred {
            *norm += linear.squared_norm(input, above, tools);
            &mut *kept
        } else {
            let (weights, biases) = kept.split_at_mut(linear.weights());
            linear.gradient(input, above, weights, false, tools);
            biases
        };
        biases.fill(R::ZERO);
        elementwise::add_rows(above, biases);
        *norm += vector::squared_norm(kept);
    }
}

/// The numbers of one record.
fn row<R>(memory: &mut [R], place: Place, records: usize, record: usize) -> &mut [R] {
    &mut memory[place.range(records)][record * place.size..][..place.size]
}

fn disjoint<R, const N: usize>(memory: &mut [R], ranges: [Range<usize>; N]) -> [&mut [R]; N] {
    memory.get_disjoint_mut(ranges).expect("what is used at the same time lies apart")
}
