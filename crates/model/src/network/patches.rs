//! Squares of an image as rows of a matrix, and back.

use std::ops::Range;

use undertone_real::Real;

use crate::vectorised::{Kernel, vectorised};

/// Numbers of short lines that are copied without a loop, from images with their padding: those of
/// the first layers of well-known networks.
const LINES: [usize; 3] = [8, 9, 21];

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

    /// Numbers of workspace of [`gather`](Self::gather).
    pub fn workspace(&self) -> usize {
        let [height, width] = self.padded();
        if LINES.contains(&self.line()) { height * width * self.channels } else { 0 }
    }

    /// Writes the squares from number `start` on, those of one image after those of another.
    pub fn gather<R: Real>(&self, images: &[R], start: usize, rows: &mut [R], workspace: &mut [R]) {
        let short = (self, images, start, &mut *rows, workspace);
        match self.line() {
            8 => vectorised(GatherShort::<8>, short),
            9 => vectorised(GatherShort::<9>, short),
            21 => vectorised(GatherShort::<21>, short),
            _ => vectorised(Gather, (self, images, start, rows)),
        }
    }

    /// Adds the squares to where they came from.
    pub fn scatter<R: Real>(&self, rows: &[R], start: usize, images: &mut [R]) {
        vectorised(Scatter, (self, rows, start, images));
    }

    /// Numbers of [`gather_lines`](Self::gather_lines).
    pub fn lines_workspace(&self) -> usize {
        let lines: usize = (0..self.planes()).map(|plane| self.plane(plane)).sum();
        lines * self.out[1] * self.line()
    }

    /// Writes every line of the squares of one image once, although up to as many squares share it
    /// as they have lines: those of squares that begin in the same row lie next to each other, and
    /// rows that are a stride apart do, so that the lines with one number of all squares are one
    /// matrix.
    pub fn gather_lines<R: Real>(&self, image: &[R], lines: &mut [R]) {
        vectorised(GatherLines, (self, image, lines));
    }

    /// Adds the lines to where they came from.
    pub fn scatter_lines<R: Real>(&self, lines: &[R], image: &mut [R]) {
        vectorised(ScatterLines, (self, lines, image));
    }

    /// Where the lines with one number of all squares are.
    pub fn lines(&self, number: usize) -> Range<usize> {
        let before: usize = (0..number % self.stride).map(|plane| self.plane(plane)).sum();
        let row = self.out[1] * self.line();
        let start = (before + number / self.stride) * row;
        start..start + self.out[0] * row
    }

    /// How many rows of the image begin a line that are as far from the first as a plane says, by
    /// the stride.
    fn plane(&self, plane: usize) -> usize {
        self.out[0] + (self.kernel - 1 - plane) / self.stride
    }

    fn planes(&self) -> usize {
        self.stride.min(self.kernel)
    }

    /// Height and width of an image with its padding.
    fn padded(&self) -> [usize; 2] {
        self.size.map(|size| size + 2 * self.padding)
    }

    /// Numbers of a line of a square.
    pub fn line(&self) -> usize {
        self.kernel * self.channels
    }

    /// The square with this number, those of one image after those of another.
    #[inline(always)]
    fn square(&self, number: usize) -> Square {
        let squares = self.out[0] * self.out[1];
        let image = number / squares * self.pixels() * self.channels;
        let [row, column] = [number % squares / self.out[1], number % squares % self.out[1]];
        Square { image, row, column, top: row * self.stride, left: column * self.stride }
    }

    /// The square after this one, without a division.
    #[inline(always)]
    fn next(&self, mut square: Square) -> Square {
        square.column += 1;
        if square.column == self.out[1] {
            (square.row, square.column) = (square.row + 1, 0);
        }
        if square.row == self.out[0] {
            (square.image, square.row) = (square.image + self.pixels() * self.channels, 0);
        }
        (square.top, square.left) = (square.row * self.stride, square.column * self.stride);
        square
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

/// A square of an image with its padding.
#[derive(Clone, Copy)]
struct Square {
    /// Where the image starts.
    image: usize,
    row: usize,
    column: usize,
    top: usize,
    left: usize,
}

struct Gather;

impl<'a, R: Real> Kernel<(&'a Patches, &'a [R], usize, &'a mut [R])> for Gather {
    #[inline(always)]
    fn run((patches, images, start, rows): (&'a Patches, &'a [R], usize, &'a mut [R])) {
        let line = patches.line();
        let depth = patches.kernel * line;
        let mut square = patches.square(start);
        for row in rows.chunks_exact_mut(depth) {
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
            square = patches.next(square);
        }
    }
}

struct GatherShort<const LINE: usize>;

type Short<'a, R> = (&'a Patches, &'a [R], usize, &'a mut [R], &'a mut [R]);

impl<'a, R: Real, const LINE: usize> Kernel<Short<'a, R>> for GatherShort<LINE> {
    #[inline(always)]
    fn run((patches, images, start, rows, workspace): Short<'a, R>) {
        let ([_, width], c) = (patches.padded(), patches.channels);
        let padded = &mut workspace[..patches.workspace()];
        padded.fill(R::ZERO);
        let mut square = patches.square(start);
        let mut image = None;
        for row in rows.chunks_exact_mut(patches.kernel * LINE) {
            if image != Some(square.image) {
                image = Some(square.image);
                let lines = images[square.image..].chunks_exact(patches.size[1] * c);
                for (y, line) in lines.take(patches.size[0]).enumerate() {
                    let place = ((y + patches.padding) * width + patches.padding) * c;
                    padded[place..][..line.len()].copy_from_slice(line);
                }
            }
            let from = padded[(square.top * width + square.left) * c..].chunks(width * c);
            for (row, line) in row.chunks_exact_mut(LINE).zip(from) {
                row.copy_from_slice(&line[..LINE]);
            }
            square = patches.next(square);
        }
    }
}

struct Scatter;

impl<'a, R: Real> Kernel<(&'a Patches, &'a [R], usize, &'a mut [R])> for Scatter {
    #[inline(always)]
    fn run((patches, rows, start, images): (&'a Patches, &'a [R], usize, &'a mut [R])) {
        let line = patches.line();
        let mut square = patches.square(start);
        for row in rows.chunks_exact(patches.kernel * line) {
            let (first, end) = patches.inside(square);
            for (y, row) in row.chunks_exact(line).enumerate() {
                if let Some(place) = patches.place(square, y, first) {
                    let row = &row[first..end];
                    let images = &mut images[place..][..row.len()];
                    images.iter_mut().zip(row).for_each(|(image, v)| *image += *v);
                }
            }
            square = patches.next(square);
        }
    }
}

struct GatherLines;

impl<'a, R: Real> Kernel<(&'a Patches, &'a [R], &'a mut [R])> for GatherLines {
    #[inline(always)]
    fn run((patches, image, lines): (&'a Patches, &'a [R], &'a mut [R])) {
        let mut rows = lines.chunks_exact_mut(patches.out[1] * patches.line());
        for plane in 0..patches.planes() {
            for (k, row) in rows.by_ref().take(patches.plane(plane)).enumerate() {
                let top = plane + k * patches.stride;
                for (column, line) in row.chunks_exact_mut(patches.line()).enumerate() {
                    let left = column * patches.stride;
                    let square = Square { image: 0, row: 0, column, top, left };
                    let (first, end) = patches.inside(square);
                    line[..first].fill(R::ZERO);
                    line[end..].fill(R::ZERO);
                    let line = &mut line[first..end];
                    match patches.place(square, 0, first) {
                        Some(place) => line.copy_from_slice(&image[place..][..line.len()]),
                        None => line.fill(R::ZERO),
                    }
                }
            }
        }
    }
}

struct ScatterLines;

impl<'a, R: Real> Kernel<(&'a Patches, &'a [R], &'a mut [R])> for ScatterLines {
    #[inline(always)]
    fn run((patches, lines, image): (&'a Patches, &'a [R], &'a mut [R])) {
        let mut rows = lines.chunks_exact(patches.out[1] * patches.line());
        for plane in 0..patches.planes() {
            for (k, row) in rows.by_ref().take(patches.plane(plane)).enumerate() {
                let top = plane + k * patches.stride;
                for (column, line) in row.chunks_exact(patches.line()).enumerate() {
                    let left = column * patches.stride;
                    let square = Square { image: 0, row: 0, column, top, left };
                    let (first, end) = patches.inside(square);
                    if let Some(place) = patches.place(square, 0, first) {
                        let line = &line[first..end];
                        let image = &mut image[place..][..line.len()];
                        image.iter_mut().zip(line).for_each(|(image, v)| *image += *v);
                    }
                }
            }
        }
    }
}
