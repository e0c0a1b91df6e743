//! Where a node writes what it sends.

use std::ops::{DerefMut, Range};

use prefetch_index::prefetch_index;
use undertone_privacy::release::Released;
use undertone_real::Real;

use super::{Extent, Shape};
use crate::aligned::LINE;
use crate::blocks::{Blockwise, change, replace};

/// Where one message is written. Only released values can be.
#[derive(Debug)]
pub struct Slot<'m, R> {
    pub(super) shape: Shape,
    /// Empty if the sender's state is the message.
    pub(super) values: &'m mut [R],
    pub(super) mask: &'m mut [u64],
    pub(super) extent: &'m mut Extent,
    /// What is read after this is written, by somebody else.
    pub(super) ahead: &'m [R],
}

impl<'m, R: Real> Slot<'m, R> {
    /// Of a message that is the state of its sender: nothing is written.
    pub(crate) fn of_state(shape: Shape, extent: &'m mut Extent) -> Self {
        Self { shape, values: &mut [], mask: &mut [], extent, ahead: &[] }
    }

    /// Whether the state of its sender is the message.
    #[inline(always)]
    fn is_state(&self) -> bool {
        self.values.len() < self.shape.width
    }

    /// Sends all of it. For messages without masks; with one, mark everything. On a lattice the
    /// values are points of it.
    #[inline(always)]
    pub fn send(&mut self, values: &Released<Vec<R>>) {
        if !self.is_state() {
            self.values.copy_from_slice(values.get());
        }
        *self.extent = Extent::Dense;
    }

    /// Sends the coordinates that the mask marks; the numbers of a coordinate are `mask_bits`
    /// apart. Unsent numbers are zero for whoever reads.
    #[inline(always)]
    pub fn send_masked(&mut self, values: &Released<Vec<R>>, mask: &[u64]) {
        self.mask.copy_from_slice(mask);
        *self.extent = Extent::Masked;
        let bits = self.shape.mask_bits;
        for (out, plane) in self.values.chunks_mut(bits).zip(values.get().chunks(bits)) {
            for ((out, plane), half) in
                out.chunks_mut(HALF).zip(plane.chunks(HALF)).zip(halves(mask))
            {
                for (k, (out, value)) in out.iter_mut().zip(plane).enumerate() {
                    *out = if half >> k & 1 == 1 { *value } else { R::ZERO };
                }
            }
        }
    }

    /// Multiplies the coordinates of a mask by `share` and sends what they are then:
    /// [`Slot::send_masked`] in one pass over memory. The mask is written where it is sent.
    #[inline(always)]
    pub fn deal(
        &mut self,
        values: &mut Released<impl DerefMut<Target = [R]>>,
        share: R,
        write_mask: impl FnOnce(&mut [u64]),
    ) {
        write_mask(self.mask);
        let mask = &*self.mask;
        *self.extent = Extent::Masked;
        let bits = self.shape.mask_bits;
        values.update(
            #[inline(always)]
            |values| {
                let (mut out, mut values) = (&mut *self.values, &mut values[..]);
                assert_eq!(values.len(), out.len(), "a message of all values");
                if bits.is_multiple_of(HALF) {
                    return deal_whole(out, values, share, mask, bits / HALF);
                }
                // Without a division, which would take as long as a plane.
                while !out.is_empty() {
                    let (plane, more) = out.split_at_mut(bits);
                    let (own, more_values) = values.split_at_mut(bits);
                    (out, values) = (more, more_values);
                    let (plane, rest) = plane.as_chunks_mut::<HALF>();
                    let (own, own_rest) = own.as_chunks_mut::<HALF>();
                    for (k, (plane, own)) in plane.iter_mut().zip(own).enumerate() {
                        deal(plane, own, share, (mask[k / 2] >> (k % 2 * HALF)) as u32);
                    }
                    if !rest.is_empty() {
                        let half = bits / HALF;
                        let marked = mask[half / 2] >> (half % 2 * HALF);
                        deal(rest, own_rest, share, marked as u32);
                    }
                }
            },
        );
    }

    /// Moves the values of some places, multiplies them by `share` and sends what they are then: in
    /// one pass over memory. Values of other places are sent by other calls.
    #[inline(always)]
    pub(crate) fn move_and_send(
        &mut self,
        places: Range<usize>,
        values: &mut Released<impl DerefMut<Target = [R]>>,
        share: R,
        moves: &mut impl Blockwise<R>,
    ) {
        *self.extent = Extent::Dense;
        values.update(
            #[inline(always)]
            |values| {
                assert_eq!(values.len(), self.shape.width, "a message of all values");
                let (first, scaled) = (places.start, &mut Scaled { moves, share });
                if self.is_state() {
                    return change(first, &mut values[places], scaled);
                }
                let (values, out) = (&mut values[places.clone()], &mut self.values[places]);
                replace(first, values, out, scaled);
            },
        );
    }

    /// Multiplies the values from a place on by `share` and sends what they are then: in one pass
    /// over memory.
    #[inline(always)]
    pub fn scale_and_send_from(
        &mut self,
        first: usize,
        values: &mut Released<impl DerefMut<Target = [R]>>,
        share: R,
    ) {
        let places = first..values.get().len();
        self.move_and_send(places, values, share, &mut Still);
    }

    /// Multiplies all values by `share` and sends what they are then.
    #[inline(always)]
    pub fn scale_and_send(&mut self, values: &mut Released<impl DerefMut<Target = [R]>>, share: R) {
        self.scale_and_send_from(0, values, share);
    }

    /// Tells what is read after this is written: whoever takes long to write asks for it, so that
    /// it is near by then.
    #[inline(always)]
    pub fn before(mut self, ahead: &'m [R]) -> Self {
        self.ahead = ahead;
        self
    }

    /// Asks for some numbers from a place on, which will be written soon.
    #[inline(always)]
    pub(crate) fn fetch(&self, first: usize) {
        if !self.is_state() {
            fetch_from(self.values, first);
        }
        if !self.ahead.is_empty() {
            fetch_from(self.ahead, first);
        }
    }

    /// Tells the hearers that there is nothing new.
    pub fn stay_silent(&mut self) {
        self.values.fill(R::ZERO);
        *self.extent = Extent::Silent;
    }
}

/// Moves, and multiplies what was moved.
struct Scaled<'a, R, M> {
    moves: &'a mut M,
    share: R,
}

impl<R: Real, M: Blockwise<R>> Blockwise<R> for Scaled<'_, R, M> {
    #[inline(always)]
    fn block<const N: usize>(&mut self, place: usize, numbers: [R; N]) -> [R; N] {
        self.moves.block(place, numbers).map(|number| number * self.share)
    }
}

/// Moves nothing.
struct Still;

impl<R> Blockwise<R> for Still {
    #[inline(always)]
    fn block<const N: usize>(&mut self, _place: usize, numbers: [R; N]) -> [R; N] {
        numbers
    }
}

/// Lines that are asked for at a time: as many as noise that is made at once fills.
const LINES: usize = 32;

/// Asks for some numbers from a place on.
#[inline(always)]
pub(crate) fn fetch_from<R>(values: &[R], first: usize) {
    let line = LINE / size_of::<R>();
    (0..LINES).for_each(|k| prefetch_index(values, first + k * line));
}

/// As many bits as a single-precision number has.
const HALF: usize = 32;

#[inline(always)]
fn deal<R: Real>(out: &mut [R], values: &mut [R], share: R, half: u32) {
    for (k, (out, value)) in out.iter_mut().zip(values).enumerate() {
        // By what is chosen to multiply with: a choice of what to write would become a masked
        // store, which some processors do slowly.
        let (factor, on) = if half >> k & 1 == 1 { (share, R::ONE) } else { (R::ONE, R::ZERO) };
        *value *= factor;
        *out = *value * on;
    }
}

/// Planes of whole halves of words, one after the other: nothing is left over at their ends.
#[inline(always)]
fn deal_whole<R: Real>(out: &mut [R], values: &mut [R], share: R, mask: &[u64], n_halves: usize) {
    let (out, values) = (out.as_chunks_mut::<HALF>().0, values.as_chunks_mut::<HALF>().0);
    let mut k = 0;
    for (out, values) in out.iter_mut().zip(values) {
        // By value, so that nobody has to look whether they overlap.
        let (mut sent, mut kept) = ([R::ZERO; HALF], *values);
        deal(&mut sent, &mut kept, share, (mask[k / 2] >> (k % 2 * HALF)) as u32);
        (*out, *values) = (sent, kept);
        k = if k + 1 == n_halves { 0 } else { k + 1 };
    }
}

/// The words of a mask in halves: as wide as a single-precision number, which vectorises better.
#[inline(always)]
fn halves(mask: &[u64]) -> impl Iterator<Item = u32> {
    mask.iter().flat_map(|word| [*word as u32, (*word >> 32) as u32])
}
