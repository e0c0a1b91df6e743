//! Records through a network, forwards and backwards.

mod clip;
mod parts;
mod side_by_side;

use std::ops::Range;

use undertone_matrix::{Mat, vector};
use undertone_real::Real;

use super::elementwise;
use super::group_norm;
use super::linear::{Linear, Tools};
use super::plan::{MOST_RECORDS, Place, Plan};
use super::program::{Op, Program};
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
        let mut group = Group::new(Asked { program, plan, x, batch }, group, scratch);
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
    let (asked, how) = (Asked { program, plan, x, batch }, (loss, clip));
    let mut groups = groups(batch.len(), plan);
    if table.is_none() {
        side_by_side::add_most(asked, &mut groups, how, scratch, &mut clipped, out);
    }
    for group in groups {
        let more = group.start > 0;
        let mut group = if scratch.threads_for(program.multiplications() * group.len()) > 1 {
            Group::in_parts(asked, group, scratch, how, &mut clipped)
        } else {
            let mut group = Group::new(asked, group, scratch);
            group.differentiate(how, &mut clipped);
            group
        };
        if let Some(table) = &mut table {
            group.add(out, more, None);
            group.swap(table);
            group.add(out, true, Some(more));
        } else {
            group.add(out, more, Some(more));
        }
    }
    clipped
}

/// Of what is asked: the scores or the gradients of some records at some parameters.
#[derive(Clone, Copy)]
struct Asked<'a, R> {
    program: &'a Program,
    plan: &'a Plan,
    x: &'a [R],
    batch: Batch<'a, R>,
}

/// Records that are in memory together.
struct Group<'a, R> {
    program: &'a Program,
    plan: &'a Plan,
    x: &'a [R],
    batch: Batch<'a, R>,
    /// Where they start in the batch.
    start: usize,
    records: usize,
    /// The records where they lie in the data set; otherwise they are in memory.
    rows: Option<Mat<'a, R>>,
    memory: &'a mut [R],
    workspace: &'a mut [R],
    packing: &'a mut undertone_matrix::Packing<R>,
    /// Of other threads, if the sum is worth them.
    threads: &'a mut [Scratch<R>],
}

impl<'a, R: Real> Group<'a, R> {
    fn new(asked: Asked<'a, R>, group: Range<usize>, scratch: &'a mut Scratch<R>) -> Self {
        let Asked { program, plan, x, batch } = asked;
        assert_eq!(x.len(), program.dimension, "as many parameters as the network has");
        let (start, records) = (group.start, group.len());
        let (memory, packing) = scratch.take(plan.size * records + plan.workspace);
        let (workspace, memory) = memory.split_at_mut(plan.workspace);
        let rows = if program.takes_rows { batch.rows(group) } else { None };
        let threads = &mut [];
        let mut group = Self {
            program,
            plan,
            x,
            batch,
            start,
            records,
            rows,
            memory,
            workspace,
            packing,
            threads,
        };
        if group.rows.is_none() {
            group.load();
        }
        group
    }

    /// Leaves the derivatives of clipped losses.
    fn differentiate(&mut self, (loss, clip): (Loss, f64), clipped: &mut Clipped) {
        self.forward();
        let mut norms = [0.0; MOST_RECORDS];
        self.losses(loss);
        self.backward(&mut norms);
        self.scale(&norms, clip, clipped);
    }

    fn at(&self, place: Place) -> &[R] {
        &self.memory[place.range(self.records)]
    }

    fn at_mut(&mut self, place: Place) -> &mut [R] {
        &mut self.memory[place.range(self.records)]
    }

    /// Images lie channel by channel in a data set and pixel by pixel here.
    fn load(&mut self) {
        let batch = self.batch;
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
                Op::Linear(linear) if step.from == 0 && self.rows.is_some() => {
                    let [output] = disjoint(self.memory, [to]);
                    let rows = self.rows.expect("there are some");
                    linear.forward_rows(self.x, rows, output, self.packing);
                }
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
    fn losses(&mut self, loss: Loss) {
        let scores = self.program.scores();
        let outputs = self.program.outputs();
        let ranges = [self.plan.values[scores], self.plan.derivatives[scores]]
            .map(|place| place.range(self.records));
        let [scores, derivatives] = disjoint(self.memory, ranges);
        let (batch, start) = (self.batch, self.start);
        loss.derivatives(scores, outputs, |k| batch.target(start + k), derivatives);
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
                Op::Linear(linear) if step.from == 0 && self.rows.is_some() => {
                    let of_rows = self.batch.data().squared_norms();
                    let rows = (0..n).map(|r| of_rows[self.batch.record(self.start + r)]);
                    linear.add_squared_norms(rows, &self.memory[above], norms);
                }
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
}

/// Groups of nearly equal size.
fn groups(records: usize, plan: &Plan) -> impl Iterator<Item = Range<usize>> + Clone + use<> {
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
    mut tools: Tools<'_, R>,
) {
    if deferred && linear.rows == 1 && linear.patches.is_none() {
        let mut rows = [0.0; MOST_RECORDS];
        vector::squared_norms(input, &mut rows[..records]);
        return linear.add_squared_norms(rows.into_iter(), above, norms);
    }
    let [input_size, above_size, size] =
        [input.len(), above.len(), kept.len()].map(|n| n / records);
    for (r, norm) in norms.iter_mut().enumerate().take(records) {
        let input = &input[r * input_size..][..input_size];
        let above = &above[r * above_size..][..above_size];
        let kept = &mut kept[r * size..][..size];
        let tools = tools.again();
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
