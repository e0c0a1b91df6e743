//! Groups of channels shifted and scaled to mean zero and variance one.

use std::ops::Range;

use undertone_real::Real;

use crate::vectorised::{Kernel, vectorised};

/// Added to a variance before it divides.
const LEAST_VARIANCE: f64 = 1e-5;

/// Pixels whose sum is taken before it is added to that of the others: sums round less so.
const BLOCK: usize = 64;

/// What goes forward.
pub(super) struct Forward<'a, R> {
    pub input: &'a [R],
    pub output: &'a mut [R],
    /// What is remembered for the way back.
    pub memory: &'a mut [R],
    pub workspace: &'a mut [R],
}

/// What goes backward.
pub(super) struct Backward<'a, R> {
    pub input: &'a [R],
    pub memory: &'a [R],
    pub above: &'a [R],
    pub below: Option<&'a mut [R]>,
    /// Whether to add to what is below.
    pub add: bool,
    pub gradient: &'a mut [R],
    pub workspace: &'a mut [R],
}

#[derive(Clone, Copy, Debug)]
pub(super) struct GroupNorm {
    pub channels: usize,
    pub groups: usize,
    pub pixels: usize,
    /// Where its parameters start: scales, then shifts.
    pub offset: usize,
}

impl GroupNorm {
    pub fn scale(&self) -> Range<usize> {
        self.offset..self.offset + self.channels
    }

    fn shift(&self) -> Range<usize> {
        self.offset + self.channels..self.offset + 2 * self.channels
    }

    /// How many parameters it has.
    pub fn count(&self) -> usize {
        2 * self.channels
    }

    /// How many numbers it remembers of a record: means and inverse deviations of channels.
    pub fn memory(&self) -> usize {
        2 * self.channels
    }

    /// How many numbers it needs to compute.
    pub fn workspace(&self) -> usize {
        4 * self.channels
    }

    /// Of one record.
    pub fn forward<R: Real>(&self, x: &[R], pass: Forward<'_, R>) {
        vectorised(ForwardKernel, (self, x, pass));
    }

    /// Of one record: writes the derivatives by the parameters, and writes or adds those by the
    /// input.
    pub fn backward<R: Real>(&self, x: &[R], pass: Backward<'_, R>) {
        vectorised(BackwardKernel, (self, x, pass));
    }

    /// Sums over pixels, block by block; `add` adds the pixel that starts at a place.
    #[inline(always)]
    fn sums<R: Real>(&self, sum: &mut [R], block: &mut [R], add: impl Fn(&mut [R], usize)) {
        sum.fill(R::ZERO);
        let mut pixel = 0;
        while pixel < self.pixels {
            let end = (pixel + BLOCK).min(self.pixels);
            block.fill(R::ZERO);
            (pixel..end).for_each(|pixel| add(block, pixel * self.channels));
            sum.iter_mut().zip(&*block).for_each(|(sum, block)| *sum += *block);
            pixel = end;
        }
    }

    /// Gives every channel of a group a function of their sum.
    #[inline(always)]
    fn over_groups<R: Real>(&self, of: &[R], out: &mut [R], f: impl Fn(f64) -> f64) {
        let size = self.channels / self.groups;
        for (of, out) in of.chunks_exact(size).zip(out.chunks_exact_mut(size)) {
            out.fill(R::from_f64(f(of.iter().map(|v| v.to_f64()).sum())));
        }
    }
}

struct ForwardKernel;

impl<'a, R: Real> Kernel<(&'a GroupNorm, &'a [R], Forward<'a, R>)> for ForwardKernel {
    #[inline(always)]
    fn run((norm, x, pass): (&'a GroupNorm, &'a [R], Forward<'a, R>)) {
        let Forward { input, output, memory, workspace } = pass;
        let c = norm.channels;
        let (mean, inverse) = memory.split_at_mut(c);
        let (sum, workspace) = workspace.split_at_mut(c);
        let (block, _) = workspace.split_at_mut(c);
        norm.sums(sum, block, |block, at| {
            block.iter_mut().zip(&input[at..]).for_each(|(sum, v)| *sum += *v);
        });
        let share = 1.0 / (norm.pixels * (c / norm.groups)) as f64;
        norm.over_groups(sum, mean, |sum| sum * share);
        let mean = &*mean;
        norm.sums(sum, block, |block, at| {
            for ((sum, v), mean) in block.iter_mut().zip(&input[at..]).zip(mean) {
                *sum += (*v - *mean) * (*v - *mean);
            }
        });
        norm.over_groups(sum, inverse, |sum| 1.0 / (sum * share + LEAST_VARIANCE).sqrt());
        for ((sum, scale), inverse) in sum.iter_mut().zip(&x[norm.scale()]).zip(&*inverse) {
            *sum = *scale * *inverse;
        }
        let (scale, shift) = (&*sum, &x[norm.shift()]);
        for (input, output) in input.chunks_exact(c).zip(output.chunks_exact_mut(c)) {
            let channels = scale.iter().zip(shift).zip(mean);
            for ((v, out), ((scale, shift), mean)) in input.iter().zip(output).zip(channels) {
                *out = (*v - *mean) * *scale + *shift;
            }
        }
    }
}

struct BackwardKernel;

impl<'a, R: Real> Kernel<(&'a GroupNorm, &'a [R], Backward<'a, R>)> for BackwardKernel {
    #[inline(always)]
    fn run((norm, x, pass): (&'a GroupNorm, &'a [R], Backward<'a, R>)) {
        let Backward { input, memory, above, below, add, gradient, workspace } = pass;
        let c = norm.channels;
        let (mean, inverse) = memory.split_at(c);
        let (by_scale, by_shift) = gradient.split_at_mut(c);
        let (a, workspace) = workspace.split_at_mut(c);
        let (b, workspace) = workspace.split_at_mut(c);
        let (p, workspace) = workspace.split_at_mut(c);
        let block = &mut workspace[..c];
        norm.sums(by_shift, block, |block, at| {
            block.iter_mut().zip(&above[at..]).for_each(|(sum, d)| *sum += *d);
        });
        norm.sums(by_scale, block, |block, at| {
            let numbers = input[at..].iter().zip(&above[at..]).zip(mean);
            for (sum, ((v, d), mean)) in block.iter_mut().zip(numbers) {
                *sum += *d * (*v - *mean);
            }
        });
        by_scale.iter_mut().zip(inverse).for_each(|(sum, inverse)| *sum *= *inverse);
        let Some(below) = below else { return };

        let scale = &x[norm.scale()];
        let share = 1.0 / (norm.pixels * (c / norm.groups)) as f64;
        block.iter_mut().zip(scale).zip(&*by_shift).for_each(|((v, s), d)| *v = *s * *d);
        norm.over_groups(block, a, |sum| -sum * share);
        block.iter_mut().zip(scale).zip(&*by_scale).for_each(|((v, s), d)| *v = *s * *d);
        norm.over_groups(block, b, |sum| -sum * share);
        for k in 0..c {
            p[k] = scale[k] * inverse[k];
            a[k] *= inverse[k];
            b[k] *= inverse[k] * inverse[k];
        }
        let pixels = input.chunks_exact(c).zip(above.chunks_exact(c));
        for ((input, above), below) in pixels.zip(below.chunks_exact_mut(c)) {
            let channels = p.iter().zip(&*a).zip(&*b).zip(mean);
            let numbers = input.iter().zip(above).zip(channels);
            if add {
                for (below, ((v, d), (((p, a), b), mean))) in below.iter_mut().zip(numbers) {
                    *below += *p * *d + (*a + *b * (*v - *mean));
                }
            } else {
                for (below, ((v, d), (((p, a), b), mean))) in below.iter_mut().zip(numbers) {
                    *below = *p * *d + (*a + *b * (*v - *mean));
                }
            }
        }
    }
}
