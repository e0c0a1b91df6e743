//! The greatest number of a square, and the mean of an image.

use undertone_real::Real;

use super::vectorised::{Kernel, vectorised};

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
        vectorised(BackwardKernel, (self, input, output, above, below, workspace));
    }

    /// Numbers of a line of the result.
    fn line(&self) -> usize {
        self.out[1] * self.channels
    }

    /// Calls with what meets in a line of the result, in the order of the pixels of each square.
    #[inline(always)]
    fn runs(&self, line: usize, mut visit: impl FnMut(Run)) {
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
                    visit(Run { line: square * c, image, length: together * c });
                }
            }
        }
    }
}

struct Forward;

impl<'a, R: Real> Kernel<(&'a MaxPool, &'a [R], &'a mut [R])> for Forward {
    #[inline(always)]
    fn run((pool, input, output): (&'a MaxPool, &'a [R], &'a mut [R])) {
        output.fill(R::from_f64(f64::NEG_INFINITY));
        for (k, line) in output.chunks_exact_mut(pool.line()).enumerate() {
            pool.runs(k, |run| {
                let input = &input[run.image..][..run.length];
                for (best, v) in line[run.line..][..run.length].iter_mut().zip(input) {
                    *best = if *best >= *v || *best != *best { *best } else { *v };
                }
            });
        }
    }
}

type Backward<'a, R> = (&'a MaxPool, &'a [R], &'a [R], &'a [R], &'a mut [R], &'a mut [R]);

struct BackwardKernel;

impl<'a, R: Real> Kernel<Backward<'a, R>> for BackwardKernel {
    #[inline(always)]
    fn run((pool, input, output, above, below, workspace): Backward<'a, R>) {
        let left = &mut workspace[..pool.line()];
        let lines = output.chunks_exact(left.len()).zip(above.chunks_exact(left.len()));
        for (k, (output, above)) in lines.enumerate() {
            left.copy_from_slice(above);
            pool.runs(k, |run| {
                let best = &output[run.line..][..run.length];
                let left = &mut left[run.line..][..run.length];
                let input = &input[run.image..][..run.length];
                let below = &mut below[run.image..][..run.length];
                for k in 0..run.length {
                    let hit = input[k] == best[k];
                    below[k] += if hit { left[k] } else { R::ZERO };
                    left[k] = if hit { R::ZERO } else { left[k] };
                }
            });
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
