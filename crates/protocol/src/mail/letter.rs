//! What a node reads of its neighbours.

use prefetch_index::prefetch_index;
use undertone_privacy::release::Released;
use undertone_real::Real;

use super::{Extent, Shape};
use crate::aligned::LINE;

/// The messages of some nodes, to be read.
#[derive(Clone, Copy, Debug)]
pub struct Letters<'a, R> {
    /// By reference: an optional letter then needs no look at what a shape may be.
    shape: &'a Shape,
    /// That of the shape, which every reader needs.
    width: usize,
    /// How far apart rows are.
    stride: usize,
    values: &'a [R],
    masks: &'a [u64],
    extents: &'a [Extent],
}

impl<'a, R: Real> Letters<'a, R> {
    /// Of rows so far apart.
    #[inline(always)]
    pub(super) fn new(
        shape: &'a Shape,
        stride: usize,
        values: &'a [R],
        masks: &'a [u64],
        extents: &'a [Extent],
    ) -> Self {
        Self { shape, width: shape.width, stride, values, masks, extents }
    }

    /// Asks for the numbers of the `idx`-th node, which will be read soon.
    #[inline(always)]
    pub fn fetch(self, idx: usize) {
        let line = LINE / size_of::<R>();
        let first = idx * self.stride;
        let end = first + self.width;
        prefetch_index(self.values, first);
        // Rows of hardly more than a line, which are read in the largest numbers, are two lines.
        if self.width > line + 1 {
            (first + line..end - 1).step_by(line).for_each(|k| prefetch_index(self.values, k));
        }
        // A row may begin within a line.
        prefetch_index(self.values, end.saturating_sub(1));
    }

    /// How many bytes the numbers of all nodes have.
    pub fn bytes(self) -> usize {
        size_of_val(self.values)
    }

    /// How many bytes the numbers of a node have.
    pub fn row_bytes(self) -> usize {
        self.shape.width * size_of::<R>()
    }

    /// That of the `idx`-th node. Nothing is looked up before it is asked for: most readers want
    /// the numbers only.
    #[inline(always)]
    pub fn get(self, idx: usize) -> Letter<'a, R> {
        Letter { among: self, idx }
    }
}

/// A message as its reader sees it.
#[derive(Clone, Copy, Debug)]
pub struct Letter<'a, R> {
    among: Letters<'a, R>,
    idx: usize,
}

impl<'a, R: Real> Letter<'a, R> {
    /// Of a message that is the state of its sender.
    #[inline(always)]
    pub fn of_state(shape: &'a Shape, state: &'a Released<Vec<R>>) -> Self {
        debug_assert_eq!(state.get().len(), shape.width, "a message of all values");
        let (values, extents) = (state.get(), &[Extent::Dense]);
        Letters::new(shape, shape.width, values, &[], extents).get(0)
    }

    /// All numbers, zero where not sent.
    #[inline(always)]
    pub fn values(&self) -> &'a [R] {
        let Letters { width, stride, values, .. } = self.among;
        &values[self.idx * stride..][..width]
    }

    /// Which coordinates were sent, as the bits of words; none if all were.
    #[inline(always)]
    pub fn mask(&self) -> Option<&'a [u64]> {
        let words = self.among.shape.words();
        (self.extent() == Extent::Masked).then(|| &self.among.masks[self.idx * words..][..words])
    }

    /// Whether there is no news.
    #[inline(always)]
    pub fn is_silent(&self) -> bool {
        self.extent() == Extent::Silent
    }

    /// Whether all numbers are finite and on the lattice, and it is masked if and only if the
    /// algorithm masks.
    pub(crate) fn is_sound(&self) -> bool {
        let unmasked = self.extent() == Extent::Dense && self.shape().mask_bits > 0;
        let sound = match self.shape().lattice {
            None => are_finite(self.values()),
            Some(lattice) => self.values().iter().all(|v| lattice.index(*v).is_some()),
        };
        sound && !unmasked
    }

    /// How many numbers were sent.
    #[inline(always)]
    pub fn sent(&self) -> usize {
        let Shape { width, mask_bits, .. } = self.shape();
        match self.mask() {
            Some(mask) => {
                let marked: u32 = mask.iter().map(|word| word.count_ones()).sum();
                // Every simulated message is counted, and narrow numbers divide faster.
                (marked * (width as u32 / mask_bits as u32)) as usize
            }
            None if self.is_silent() => 0,
            None => width,
        }
    }

    #[inline(always)]
    pub(crate) fn shape(&self) -> Shape {
        *self.among.shape
    }

    #[inline(always)]
    pub(crate) fn extent(&self) -> Extent {
        self.among.extents[self.idx]
    }
}

/// Looks at all of them: without a way out in the middle, several go at once.
pub(crate) fn are_finite<R: Real>(values: &[R]) -> bool {
    values.iter().fold(true, |all, v| all & v.is_finite())
}
