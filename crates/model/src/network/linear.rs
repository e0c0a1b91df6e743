//! Linear functions of rows: dense layers, and convolutions as functions of squares.

use std::ops::Range;

use undertone_matrix::{Mat, Packing, multiply, multiply_add, multiply_from, vector};
use undertone_real::Real;

use super::patches::Patches;
use super::plan::MOST_RECORDS;
use crate::objective::{Scratch, worth};

/// Numbers that squares may take at a time: they should stay in the cache between their writing
/// and their use.
const GATHERED: usize = 1 << 17;

/// Rows that are multiplied at a time at least: fewer would load the weights too often.
const LEAST_ROWS: usize = 256;

/// `rows` by `depth` numbers of a record times `depth` by `outputs` weights.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    /// How rows come from the input, if they are not the input itself.
    pub patches: Option<Patches>,
    pub rows: usize,
    pub depth: usize,
    pub outputs: usize,
    pub bias: bool,
    /// Whether lines of squares are gathered, and not whole squares.
    pub by_lines: bool,
    /// Where its parameters start: weights, then biases.
    pub offset: usize,
}

/// What computes: memory for squares and products.
pub(super) struct Tools<'a, R> {
    pub workspace: &'a mut [R],
    pub packing: &'a mut Packing<R>,
}

impl<R> Tools<'_, R> {
    /// The same for another use.
    pub fn again(&mut self) -> Tools<'_, R> {
        Tools { workspace: self.workspace, packing: self.packing }
    }
}

impl Linear {
    pub fn weight(&self) -> Range<usize> {
        self.offset..self.offset + self.weights()
    }

    pub fn biases(&self) -> Range<usize> {
        let start = self.offset + self.weights();
        start..start + if self.bias { self.outputs } else { 0 }
    }

    pub fn weights(&self) -> usize {
        self.depth * self.outputs
    }

    /// Whether lines should be gathered: not if a record has few squares, which are multiplied
    /// faster together with those of other records, nor if lines are short.
    pub fn prefers_lines(patches: Option<Patches>) -> bool {
        patches.is_some_and(|p| p.out[0] * p.out[1] >= LEAST_ROWS && p.line() >= 64)
    }

    /// Numbers of workspace for any number of records up to `records`.
    pub fn workspace(&self, records: usize) -> usize {
        if let Some(patches) = self.lines() {
            return patches.lines_workspace();
        }
        let gathered = self.depth * self.at_a_time().min(records * self.rows);
        self.patches.map_or(0, |patches| gathered + patches.workspace())
    }

    /// Numbers of workspace of [`gram`](Self::gram).
    pub fn gram_workspace(&self) -> usize {
        let gathered = self.rows * self.depth;
        let gathered = self.patches.map_or(0, |patches| gathered + patches.workspace());
        2 * self.rows * self.rows + gathered
    }

    /// Of all records.
    pub fn forward<R: Real>(&self, x: &[R], input: &[R], output: &mut [R], tools: Tools<'_, R>) {
        let total = output.len() / self.outputs;
        let packing = tools.packing;
        if let Some(patches) = self.lines() {
            if self.bias {
                let bias = &x[self.biases()];
                output.chunks_exact_mut(self.outputs).for_each(|row| row.copy_from_slice(bias));
            }
            let (t, line) = (self.rows, patches.line());
            let lines = &mut tools.workspace[..patches.lines_workspace()];
            let images = input.chunks_exact(patches.pixels() * patches.channels);
            for (image, out) in images.zip(output.chunks_exact_mut(t * self.outputs)) {
                patches.gather_lines(image, lines);
                for (k, weight) in x[self.weight()].chunks_exact(line * self.outputs).enumerate() {
                    let lines = Mat::new(&lines[patches.lines(k)], t, line);
                    let weight = Mat::new(weight, line, self.outputs);
                    if self.bias || k > 0 {
                        multiply_add(lines, weight, out, packing);
                    } else {
                        multiply(lines, weight, out, packing);
                    }
                }
            }
            return;
        }
        self.blocks(input, 0..total, tools.workspace, |rows, matrix| {
            let out = &mut output[rows.start * self.outputs..rows.end * self.outputs];
            self.forward_rows(x, matrix, out, packing);
        });
    }

    /// Of records whose rows are the input itself.
    pub fn forward_rows<R: Real>(
        &self,
        x: &[R],
        rows: Mat<'_, R>,
        output: &mut [R],
        packing: &mut Packing<R>,
    ) {
        let weight = Mat::new(&x[self.weight()], self.depth, self.outputs);
        if !self.bias {
            return multiply(rows, weight, output, packing);
        }
        multiply_from(&x[self.biases()], rows, weight, output, packing);
    }

    /// The derivatives by the input of all records.
    pub fn backward<R: Real>(
        &self,
        x: &[R],
        above: &[R],
        below: &mut [R],
        add: bool,
        tools: Tools<'_, R>,
    ) {
        let weight = Mat::new(&x[self.weight()], self.depth, self.outputs).t();
        let total = above.len() / self.outputs;
        let Some(patches) = self.patches else {
            let above = Mat::new(above, total, self.outputs);
            return if add {
                multiply_add(above, weight, below, tools.packing);
            } else {
                multiply(above, weight, below, tools.packing);
            };
        };
        if !add {
            below.fill(R::ZERO);
        }
        if self.by_lines {
            let (t, line) = (self.rows, patches.line());
            let lines = &mut tools.workspace[..patches.lines_workspace()];
            let images = below.chunks_exact_mut(patches.pixels() * patches.channels);
            for (above, image) in above.chunks_exact(t * self.outputs).zip(images) {
                lines.fill(R::ZERO);
                let above = Mat::new(above, t, self.outputs);
                for (k, weight) in x[self.weight()].chunks_exact(line * self.outputs).enumerate() {
                    let weight = Mat::new(weight, line, self.outputs).t();
                    multiply_add(above, weight, &mut lines[patches.lines(k)], tools.packing);
                }
                patches.scatter_lines(lines, image);
            }
            return;
        }
        let mut start = 0;
        while start < total {
            let count = self.at_a_time().min(total - start);
            let above = &above[start * self.outputs..][..count * self.outputs];
            let rows = &mut tools.workspace[..count * self.depth];
            multiply(Mat::new(above, count, self.outputs), weight, rows, tools.packing);
            patches.scatter(rows, start, below);
            start += count;
        }
    }

    /// Writes or adds the derivatives by the weights, of records together.
    pub fn gradient<R: Real>(
        &self,
        input: &[R],
        above: &[R],
        gradient: &mut [R],
        add: bool,
        tools: Tools<'_, R>,
    ) {
        let total = above.len() / self.outputs;
        let packing = tools.packing;
        if let Some(patches) = self.lines() {
            let (t, line) = (self.rows, patches.line());
            let lines = &mut tools.workspace[..patches.lines_workspace()];
            let images = input.chunks_exact(patches.pixels() * patches.channels);
            for (r, (image, above)) in images.zip(above.chunks_exact(t * self.outputs)).enumerate()
            {
                patches.gather_lines(image, lines);
                let above = Mat::new(above, t, self.outputs);
                for (k, out) in gradient.chunks_exact_mut(line * self.outputs).enumerate() {
                    let lines = Mat::new(&lines[patches.lines(k)], t, line).t();
                    if add || r > 0 {
                        multiply_add(lines, above, out, packing);
                    } else {
                        multiply(lines, above, out, packing);
                    }
                }
            }
            return;
        }
        self.blocks(input, 0..total, tools.workspace, |rows, matrix| {
            let above = &above[rows.start * self.outputs..rows.end * self.outputs];
            self.gradient_rows(matrix, above, gradient, add || rows.start > 0, packing);
        });
    }

    /// The same of records whose rows are the input itself.
    pub fn gradient_rows<R: Real>(
        &self,
        rows: Mat<'_, R>,
        above: &[R],
        gradient: &mut [R],
        add: bool,
        packing: &mut Packing<R>,
    ) {
        let above = Mat::new(above, rows.rows(), self.outputs);
        if add {
            multiply_add(rows.t(), above, gradient, packing);
        } else {
            multiply(rows.t(), above, gradient, packing);
        }
    }

    /// The same, with rows of the gradient for each thread if there is enough to do.
    pub fn gradient_on<R: Real>(
        &self,
        threads: &mut [Scratch<R>],
        rows: Mat<'_, R>,
        above: &[R],
        gradient: &mut [R],
        add: bool,
        packing: &mut Packing<R>,
    ) {
        let n_threads = worth(threads.len(), rows.rows() * self.weights());
        if n_threads < 2 {
            return self.gradient_rows(rows, above, gradient, add, packing);
        }
        let each = self.depth.div_ceil(n_threads);
        let parts = gradient.chunks_mut(each * self.outputs).zip(threads).enumerate();
        undertone_threads::each(parts, |(k, (gradient, scratch))| {
            let columns = k * each..self.depth.min((k + 1) * each);
            let rows = rows.t().some_rows(columns).t();
            self.gradient_rows(rows, above, gradient, add, &mut scratch.packing);
        });
    }

    /// Rows that are the input itself.
    pub fn matrix<'a, R: Real>(&self, input: &'a [R]) -> Mat<'a, R> {
        Mat::new(input, input.len() / self.depth, self.depth)
    }

    /// An upper bound of the squared norm of the derivative by the weights, and by the biases if
    /// there is one row, of one record, in exact arithmetic.
    pub fn squared_norm<R: Real>(&self, input: &[R], above: &[R], tools: Tools<'_, R>) -> f64 {
        if self.rows > 1 {
            return self.gram(input, above, tools);
        }
        let row = match self.patches {
            Some(patches) => {
                let (row, workspace) = tools.workspace.split_at_mut(self.depth);
                patches.gather(input, 0, row, workspace);
                &*row
            }
            None => input,
        };
        self.with_bias(vector::squared_norm(row)) * vector::squared_norm(above)
    }

    /// Adds the same for all records, given upper bounds of the squared norms of their only rows.
    pub fn add_squared_norms<R: Real>(
        &self,
        rows: impl Iterator<Item = f64>,
        above: &[R],
        norms: &mut [f64],
    ) {
        let mut of_above = [0.0; MOST_RECORDS];
        let of_above = &mut of_above[..above.len() / self.outputs];
        vector::squared_norms(above, of_above);
        for (norm, (row, above)) in norms.iter_mut().zip(rows.zip(of_above)) {
            *norm += self.with_bias(row) * *above;
        }
    }

    fn with_bias(&self, squared_norm: f64) -> f64 {
        squared_norm + if self.bias { 1.0 } else { 0.0 }
    }

    /// The squared norm of a sum of outer products is the sum of the products of the entries of two
    /// Gram matrices.
    fn gram<R: Real>(&self, input: &[R], above: &[R], tools: Tools<'_, R>) -> f64 {
        let (t, packing) = (self.rows, tools.packing);
        let (grams, workspace) = tools.workspace.split_at_mut(2 * t * t);
        let (of_input, of_above) = grams.split_at_mut(t * t);
        let input = match self.patches {
            Some(patches) => {
                let (rows, workspace) = workspace.split_at_mut(t * self.depth);
                patches.gather(input, 0, rows, workspace);
                &*rows
            }
            None => input,
        };
        let (input, above) = (Mat::new(input, t, self.depth), Mat::new(above, t, self.outputs));
        multiply(input, input.t(), of_input, packing);
        multiply(above, above.t(), of_above, packing);

        // So much is lost at most where numbers are too small.
        let least =
            if size_of::<R>() == 4 { f64::from(f32::from_bits(1)) } else { f64::from_bits(1) };
        let [lost_input, lost_above] = [self.depth, self.outputs].map(|n| n as f64 * least);
        let [mut outer, mut of_rows, mut of_derivatives] = [0.0; 3];
        for k in (0..t * t).step_by(t + 1) {
            let a = (of_input[k].to_f64() + lost_input).sqrt();
            let d = (of_above[k].to_f64() + lost_above).sqrt();
            (outer, of_rows, of_derivatives) = (outer + a * d, of_rows + a, of_derivatives + d);
        }
        let lost = lost_input * of_derivatives * of_derivatives + lost_above * of_rows * of_rows;
        let rounding = self.allowance::<R>() * outer * outer;
        vector::dot(of_input, of_above) + rounding + 4.0 * lost
    }

    /// What rounding adds to a squared norm from Gram matrices at most, by the square of the sum of
    /// the lengths of the outer products.
    fn allowance<R: Real>(&self) -> f64 {
        let unit = R::EPSILON.to_f64() / 2.0;
        let error = |terms: usize| terms as f64 * unit / (1.0 - terms as f64 * unit);
        // An entry is off by at most so much of the two lengths, whatever the order of the sum.
        let [input, above] = [self.depth, self.outputs].map(error);
        // The product that is added in the end rounds as well.
        let sum = error(self.rows);
        let entries = input + above + input * above;
        let doubles = 2.0 * (self.rows * self.rows) as f64 * f64::EPSILON;
        (entries + 2.0 * sum + sum * sum + doubles) / ((1.0 - input) * (1.0 - above))
    }

    /// Calls with blocks of rows as matrices.
    fn blocks<R: Real>(
        &self,
        input: &[R],
        rows: Range<usize>,
        workspace: &mut [R],
        mut visit: impl FnMut(Range<usize>, Mat<'_, R>),
    ) {
        let Some(patches) = self.patches else {
            return visit(rows, self.matrix(input));
        };
        let mut start = rows.start;
        while start < rows.end {
            let count = self.at_a_time().min(rows.end - start);
            let (gathered, workspace) = workspace.split_at_mut(count * self.depth);
            patches.gather(input, start, gathered, workspace);
            visit(start..start + count, Mat::new(gathered, count, self.depth));
            start += count;
        }
    }

    fn lines(&self) -> Option<Patches> {
        self.patches.filter(|_| self.by_lines)
    }

    fn at_a_time(&self) -> usize {
        (GATHERED / self.depth).max(LEAST_ROWS)
    }
}
