//! The greatest number of a square, and the mean of an image.

use undertone_real::Real;

use crate::vectorised::{Kernel, vectorised};

/// The greatest number of every square, channel by channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct MaxPool {
    pub channels: usize,
    /// Height and width of the image.
    pub from: [usize; 2],
    pub size: usize,
    pub stride: usize,
    /// What does not count around the image; at most half of a square.
    pub padding: usize,
    /// How many squares from top to bottom and from left to right.
    pub out: [usize; 2],
}

/// Numbers next to each other, in a line of the result and in the images.
struct Run {
    line: usize,
    image: usize,
    length: usize,
}

impl MaxPool {
    /// How many numbers it needs to compute.
    pub fn workspace(&self) -> usize {
        self.line()
    }

    /// A number that is not one stays.
    pub fn forward<R: Real>(&self, input: &[R], output: &mut [R]) {
        vectorised(Forward, (self, input, output));
    }

    /// Adds each derivative to the first of the greatest.
    pub fn backward<R: Real>(
        &self,
        input: &[R],
        output: &[R],
        above: &[R],
        below: &mut [R],
        workspace: &mut [R],
    ) {
        vectorised(Backward, (self, input, output, above, below, workspace));
    }

    /// Numbers of a line of the result.
    fn line(&self) -> usize {
        self.out[1] * self.channels
    }

    /// Calls with what meets in a line of the result, in the order of the pixels of each square.
    #[inline(always)]
    fn runs(&self, line: usize, visit: &mut impl Visit) {
        let [height, width] = self.from;
        let (image, top) = (line / self.out[0], line % self.out[0] * self.stride);
        let c = self.channels;
        for y in 0..self.size {
            let y = (top + y).wrapping_sub(self.padding);
            if y >= height {
                continue;
            }
            let row = (image * height + y) * width;
            for x in 0..self.size {
                // Squares whose column number `x` is inside of the image.
                let first = self.padding.saturating_sub(x).div_ceil(self.stride);
                let end = (width + self.padding - x).div_ceil(self.stride).min(self.out[1]);
                // Those that lie next to each other are one run.
                let together = if self.stride == 1 { end.max(first + 1) - first } else { 1 };
                for square in (first..end).step_by(together) {
                    let image = (row + square * self.stride + x - self.padding) * c;
                    visit.run(Run { line: square * c, image, length: together * c });
                }
            }
        }
    }
}

/// What is done with runs. A trait, because a closure is not always inlined.
trait Visit {
    fn run(&mut self, run: Run);
}

struct Forward;

impl<'a, R: Real> Kernel<(&'a MaxPool, &'a [R], &'a mut [R])> for Forward {
    #[inline(always)]
    fn run((pool, input, output): (&'a MaxPool, &'a [R], &'a mut [R])) {
        output.fill(R::from_f64(f64::NEG_INFINITY));
        for (k, line) in output.chunks_exact_mut(pool.line()).enumerate() {
            pool.runs(k, &mut Greatest { input, line });
        }
    }
}

struct Greatest<'a, R> {
    input: &'a [R],
    line: &'a mut [R],
}

impl<R: Real> Visit for Greatest<'_, R> {
    #[expect(clippy::eq_op, reason = "only what is not a number differs from itself")]
    #[inline(always)]
    fn run(&mut self, run: Run) {
        let input = &self.input[run.image..][..run.length];
        for (best, v) in self.line[run.line..][..run.length].iter_mut().zip(input) {
            // In two steps, neither of which keeps what was there: else it would be stored under a
            // mask, which is slow.
            let greater = if *v > *best { *v } else { *best };
            *best = if *v == *v { greater } else { *v };
        }
    }
}

type BackwardArguments<'a, R> = (&'a MaxPool, &'a [R], &'a [R], &'a [R], &'a mut [R], &'a mut [R]);

struct Backward;

impl<'a, R: Real> Kernel<BackwardArguments<'a, R>> for Backward {
    #[inline(always)]
    fn run((pool, input, output, above, below, workspace): BackwardArguments<'a, R>) {
        let left = &mut workspace[..pool.line()];
        let lines = output.chunks_exact(left.len()).zip(above.chunks_exact(left.len()));
        for (k, (best, above)) in lines.enumerate() {
            left.copy_from_slice(above);
            pool.runs(k, &mut Share { input, best, left, below });
        }
    }
}

struct Share<'a, R> {
    input: &'a [R],
    best: &'a [R],
    /// Derivatives that have not found their number.
    left: &'a mut [R],
    below: &'a mut [R],
}

impl<R: Real> Visit for Share<'_, R> {
    #[inline(always)]
    fn run(&mut self, run: Run) {
        let best = &self.best[run.line..][..run.length];
        let left = &mut self.left[run.line..][..run.length];
        let input = &self.input[run.image..][..run.length];
        let below = &mut self.below[run.image..][..run.length];
        for (((left, below), v), best) in left.iter_mut().zip(below).zip(input).zip(best) {
            let share = if *v == *best { *left } else { R::ZERO };
            *below += share;
            *left -= share;
        }
    }
}

/// The mean of every channel of an image.
#[derive(Clone, Copy, Debug)]
pub(super) struct AveragePool {
    pub channels: usize,
    pub pixels: usize,
}

impl AveragePool {
    pub fn forward<R: Real>(&self, input: &[R], output: &mut [R]) {
        let share = R::from_f64(1.0 / self.pixels as f64);
        let images = input.chunks_exact(self.channels * self.pixels);
        for (image, mean) in images.zip(output.chunks_exact_mut(self.channels)) {
            mean.fill(R::ZERO);
            for pixel in image.chunks_exact(self.channels) {
                mean.iter_mut().zip(pixel).for_each(|(mean, v)| *mean += *v);
            }
            mean.iter_mut().for_each(|mean| *mean *= share);
        }
    }

    /// Adds the derivatives.
    pub fn backward<R: Real>(&self, above: &[R], below: &mut [R]) {
        let share = R::from_f64(1.0 / self.pixels as f64);
        let images = below.chunks_exact_mut(self.channels * self.pixels);
        for (image, above) in images.zip(above.chunks_exact(self.channels)) {
            for pixel in image.chunks_exact_mut(self.channels) {
                pixel.iter_mut().zip(above).for_each(|(below, v)| *below += share * *v);
            }
        }
    }
}
