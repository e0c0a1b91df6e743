//! Squares of an image as rows of a matrix, and back.

use undertone_real::Real;

use super::vectorised::{Kernel, vectorised};

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
        let arguments = (self, images, start, rows);
        // Short lines are copied without a loop.
        match self.line() {
            8 => vectorised(Gather::<8>, arguments),
            9 => vectorised(Gather::<9>, arguments),
            21 => vectorised(Gather::<21>, arguments),
            _ => vectorised(Gather::<0>, arguments),
        }
    }

    /// Adds the squares to where they came from.
    pub fn scatter<R: Real>(&self, rows: &[R], start: usize, images: &mut [R]) {
        vectorised(Scatter, (self, rows, start, images));
    }

    /// Numbers of a line of a square.
    fn line(&self) -> usize {
        self.kernel * self.channels
    }

    /// Calls with each square from a number on: where the image begins, and how far its top and
    /// its left are from the top and the left of the image with its padding.
    #[inline(always)]
    fn squares(&self, start: usize, count: usize, mut visit: impl FnMut(usize, Square)) {
        let squares = self.out[0] * self.out[1];
        let mut image = start / squares * self.pixels() * self.channels;
        let mut row = start % squares / self.out[1];
        let mut column = start % self.out[1];
        for k in 0..count {
            visit(k, Square { image, top: row * self.stride, left: column * self.stride });
            column += 1;
            if column == self.out[1] {
                (row, column) = (row + 1, 0);
            }
            if row == self.out[0] {
                (image, row) = (image + self.pixels() * self.channels, 0);
            }
        }
    }

    /// What part of the lines of a square is inside of the image.
    #[inline(always)]
    fn inside(&self, square: Square) -> (usize, usize) {
        let first = self.padding.saturating_sub(square.left);
        let end = (self.size[1] + self.padding - square.left).min(self.kernel);
        (first * self.channels, end * self.channels)
    }

    /// Where a line of a square, from some number of it on, is in the images, if it is.
    #[inline(always)]
    fn place(&self, square: Square, line: usize, first: usize) -> Option<usize> {
        let y = (square.top + line).wrapping_sub(self.padding);
        if y >= self.size[0] {
            return None;
        }
        // In this order nothing is below zero.
        let pixels = (y * self.size[1] + square.left) * self.channels + first;
        Some(square.image + pixels - self.padding * self.channels)
    }
}

#[derive(Clone, Copy)]
struct Square {
    image: usize,
    top: usize,
    left: usize,
}

struct Gather<const LINE: usize>;

impl<'a, R: Real, const LINE: usize> Kernel<(&'a Patches, &'a [R], usize, &'a mut [R])>
    for Gather<LINE>
{
    #[inline(always)]
    fn run((patches, images, start, rows): (&'a Patches, &'a [R], usize, &'a mut [R])) {
        let line = if LINE > 0 { LINE } else { patches.line() };
        let depth = patches.kernel * line;
        patches.squares(start, rows.len() / depth, |k, square| {
            let row = &mut rows[k * depth..][..depth];
            let (first, end) = patches.inside(square);
            for (y, row) in row.chunks_exact_mut(line).enumerate() {
                match patches.place(square, y, first) {
                    None => row.fill(R::ZERO),
                    Some(place) if first == 0 && end == line => {
                        row.copy_from_slice(&images[place..][..line]);
                    }
                    Some(place) => {
                        row[..first].fill(R::ZERO);
                        row[first..end].copy_from_slice(&images[place..][..end - first]);
                        row[end..].fill(R::ZERO);
                    }
                }
            }
        });
    }
}

struct Scatter;

impl<'a, R: Real> Kernel<(&'a Patches, &'a [R], usize, &'a mut [R])> for Scatter {
    #[inline(always)]
    fn run((patches, rows, start, images): (&'a Patches, &'a [R], usize, &'a mut [R])) {
        let line = patches.line();
        let depth = patches.kernel * line;
        patches.squares(start, rows.len() / depth, |k, square| {
            let (first, end) = patches.inside(square);
            for (y, row) in rows[k * depth..][..depth].chunks_exact(line).enumerate() {
                if let Some(place) = patches.place(square, y, first) {
                    let row = &row[first..end];
                    let images = &mut images[place..][..row.len()];
                    images.iter_mut().zip(row).for_each(|(image, v)| *image += *v);
                }
            }
        });
    }
}
