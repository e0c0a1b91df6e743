//! Squares of an image as rows of a matrix, and back.

use undertone_real::Real;

/// All squares of an image that lies pixel by pixel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patches {
    pub channels: usize,
    /// Height and width.
    pub size: [usize; 2],
    pub kernel: usize,
    pub stride: usize,
    pub padding: usize,
    /// How many squares from top to bottom and from left to right.
    pub out: [usize; 2],
}

impl Patches {
    /// How many pixels an image has.
    pub fn pixels(&self) -> usize {
        self.size[0] * self.size[1]
    }

    /// Writes the squares from number `start` on, those of one image after those of another.
    pub fn gather<R: Real>(&self, images: &[R], start: usize, rows: &mut [R]) {
        let line = self.kernel * self.channels;
        for (k, row) in rows.chunks_exact_mut(self.kernel * line).enumerate() {
            self.lines(start + k, |at, inside, image| {
                let row = &mut row[at..at + line];
                match image {
                    Some(image) => {
                        row[..inside.0].fill(R::ZERO);
                        copy(&mut row[inside.0..inside.1], &images[image..]);
                        row[inside.1..].fill(R::ZERO);
                    }
                    None => row.fill(R::ZERO),
                }
            });
        }
    }

    /// Adds the squares to where they came from.
    pub fn scatter<R: Real>(&self, rows: &[R], start: usize, images: &mut [R]) {
        let line = self.kernel * self.channels;
        for (k, row) in rows.chunks_exact(self.kernel * line).enumerate() {
            self.lines(start + k, |at, inside, image| {
                if let Some(image) = image {
                    let row = &row[at + inside.0..at + inside.1];
                    let images = &mut images[image..][..row.len()];
                    images.iter_mut().zip(row).for_each(|(image, v)| *image += *v);
                }
            });
        }
    }

    /// Calls for every line of a square: where it starts in the square, what part of it is inside
    /// of the image, and where that starts in the images, if it is.
    #[inline(always)]
    fn lines(&self, square: usize, mut visit: impl FnMut(usize, (usize, usize), Option<usize>)) {
        let [height, width] = self.size;
        let squares = self.out[0] * self.out[1];
        let (image, place) = (square / squares, square % squares);
        let top = place / self.out[1] * self.stride;
        let left = place % self.out[1] * self.stride;
        let first = self.padding.saturating_sub(left);
        let last = (width + self.padding - left).min(self.kernel);
        let inside = (first * self.channels, last * self.channels);
        let left = left + first - self.padding;
        for k in 0..self.kernel {
            let y = (top + k).wrapping_sub(self.padding);
            let image = (y < height).then(|| ((image * height + y) * width + left) * self.channels);
            visit(k * self.kernel * self.channels, inside, image);
        }
    }
}

/// Copies short runs without the call that a copy of unknown length is.
#[inline(always)]
fn copy<R: Real>(to: &mut [R], from: &[R]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}
