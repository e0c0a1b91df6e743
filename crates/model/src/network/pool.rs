//! The greatest number of a square, and the mean of an image.

use undertone_real::Real;

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

impl MaxPool {
    /// A number that is not one stays.
    pub fn forward<R: Real>(&self, input: &[R], output: &mut [R]) {
        for (k, best) in output.chunks_exact_mut(self.channels).enumerate() {
            let mut first = true;
            self.pixels(k, |pixel| {
                let input = &input[pixel * self.channels..][..self.channels];
                if first {
                    best.copy_from_slice(input);
                } else {
                    for (best, v) in best.iter_mut().zip(input) {
                        *best = if *best >= *v || *best != *best { *best } else { *v };
                    }
                }
                first = false;
            });
        }
    }

    /// Adds each derivative to the first of the greatest. Needs memory for a pixel.
    pub fn backward<R: Real>(
        &self,
        input: &[R],
        output: &[R],
        above: &[R],
        below: &mut [R],
        left: &mut [R],
    ) {
        let left = &mut left[..self.channels];
        let squares = output.chunks_exact(self.channels).zip(above.chunks_exact(self.channels));
        for (k, (best, above)) in squares.enumerate() {
            left.copy_from_slice(above);
            self.pixels(k, |pixel| {
                let range = pixel * self.channels..(pixel + 1) * self.channels;
                let (input, below) = (&input[range.clone()], &mut below[range]);
                let numbers = input.iter().zip(best).zip(below).zip(left.iter_mut());
                for (((v, best), below), left) in numbers {
                    let hit = *v == *best;
                    *below += if hit { *left } else { R::ZERO };
                    *left = if hit { R::ZERO } else { *left };
                }
            });
        }
    }

    /// Calls with the number of every pixel of a square.
    #[inline(always)]
    fn pixels(&self, square: usize, mut visit: impl FnMut(usize)) {
        let [height, width] = self.from;
        let squares = self.out[0] * self.out[1];
        let (image, place) = (square / squares, square % squares);
        let inside = |at: usize, size: usize| {
            let start = at * self.stride;
            let first = start.saturating_sub(self.padding);
            first..(start + self.size - self.padding).min(size)
        };
        for y in inside(place / self.out[1], height) {
            for x in inside(place % self.out[1], width) {
                visit((image * height + y) * width + x);
            }
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
