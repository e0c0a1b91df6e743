//! Messages: one row of numbers a node and round, by reference.
//!
//! Only released values get into a [`Slot`] (invariant I1), so whatever is in a [`Mail`] or a
//! [`Message`] may be sent.
//!
//! ```compile_fail,E0308
//! use undertone_graph::NodeId;
//! use undertone_protocol::{Mail, Shape};
//! let mut mail = Mail::<f64>::new(1, Shape::dense(2));
//! mail.slot(NodeId(0)).send(&vec![1.0, 2.0]);
//! ```
//!
//! ```
//! use undertone_graph::NodeId;
//! use undertone_privacy::release::Released;
//! use undertone_protocol::{Mail, Shape};
//! let mut mail = Mail::<f64>::new(1, Shape::dense(2));
//! mail.slot(NodeId(0)).send(&Released::public(vec![1.0, 2.0]));
//! ```

mod message;

use undertone_graph::NodeId;
use undertone_privacy::release::Released;
use undertone_real::Real;

use crate::initial::nothing;
use crate::lattice::Lattice;
use crate::topology::Neighbourhood;

pub use message::Message;

/// How large the messages of an algorithm are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// How many numbers.
    pub width: usize,
    /// How many coordinates a mask tells apart; zero for messages that are sent in full. It
    /// divides the width: a coordinate stands for every `mask_bits`-th number.
    pub mask_bits: usize,
    /// Where the numbers are, if they are on a lattice; without a mask then.
    pub lattice: Option<Lattice>,
}

impl Shape {
    /// All numbers are sent.
    pub const fn dense(width: usize) -> Self {
        Self { width, mask_bits: 0, lattice: None }
    }

    /// `planes` rows of `mask_bits` numbers each, of which the same coordinates are sent.
    pub const fn masked(mask_bits: usize, planes: usize) -> Self {
        Self { width: mask_bits * planes, mask_bits, lattice: None }
    }

    /// All numbers are sent, and all are points of a lattice.
    pub const fn quantised(width: usize, lattice: Lattice) -> Self {
        Self { width, mask_bits: 0, lattice: Some(lattice) }
    }

    /// Words of a mask.
    pub const fn words(&self) -> usize {
        self.mask_bits.div_ceil(64)
    }
}

/// What of a row is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Nothing: the hearers are told that there is no news.
    #[default]
    Silent,
    /// All numbers.
    Dense,
    /// Those that the mask marks; the others are zero.
    Masked,
}

/// Bytes of a cache line. Rows that begin with one, if they are as long as some of them, take half as
/// long to read as those that lie across.
const LINE: usize = 64;

/// The messages of one round: a row of numbers for every node, in one piece of memory.
#[derive(Debug)]
pub struct Mail<R> {
    shape: Shape,
    /// From `start` on.
    values: Vec<R>,
    start: usize,
    masks: Vec<u64>,
    extents: Vec<Extent>,
}

impl<R: Real> Mail<R> {
    /// Empty rows.
    pub fn new(n_nodes: usize, shape: Shape) -> Self {
        let values = vec![R::ZERO; n_nodes * shape.width + LINE / size_of::<R>()];
        Self {
            shape,
            start: values.as_ptr().align_offset(LINE).min(LINE / size_of::<R>()),
            values,
            masks: vec![0; n_nodes * shape.words()],
            extents: vec![Extent::Silent; n_nodes],
        }
    }

    /// Where a node writes its message.
    pub fn slot(&mut self, node: NodeId) -> Slot<'_, R> {
        self.whole().slot_of(node.idx())
    }

    /// The rows cut into parts of `nodes_each`, for threads to fill.
    pub fn parts(&mut self, nodes_each: usize) -> Vec<MailPart<'_, R>> {
        let n_parts = self.extents.len().div_ceil(nodes_each);
        let mut parts = Vec::with_capacity(n_parts);
        let mut rest = self.whole();
        while rest.extents.len() > nodes_each {
            let (first, last) = rest.split(nodes_each);
            parts.push(first);
            rest = last;
        }
        parts.push(rest);
        parts
    }

    /// What a node wrote.
    pub fn letter(&self, from: NodeId) -> Letter<'_, R> {
        let Self { shape, values, start, masks, extents } = self;
        Letters { shape: *shape, values: &values[*start..], masks, extents }.get(from.idx())
    }

    /// The messages that a node hears if none is lost, in order.
    #[inline(always)]
    pub fn heard_by<'a>(
        &'a self,
        around: &Neighbourhood<'a>,
    ) -> impl Iterator<Item = (NodeId, Letter<'a, R>)> {
        around.heard.iter().map(|&from| (from, self.letter(from)))
    }

    fn whole(&mut self) -> MailPart<'_, R> {
        MailPart {
            shape: self.shape,
            values: &mut self.values[self.start..],
            masks: &mut self.masks,
            extents: &mut self.extents,
        }
    }
}

/// The rows of some nodes.
#[derive(Debug)]
pub struct MailPart<'m, R> {
    shape: Shape,
    values: &'m mut [R],
    masks: &'m mut [u64],
    extents: &'m mut [Extent],
}

impl<'m, R: Real> MailPart<'m, R> {
    /// The slot of the part's `idx`-th node.
    #[inline(always)]
    pub fn slot(&mut self, idx: usize) -> Slot<'_, R> {
        let (width, words) = (self.shape.width, self.shape.words());
        Slot {
            shape: self.shape,
            values: &mut self.values[idx * width..][..width],
            mask: &mut self.masks[idx * words..][..words],
            extent: &mut self.extents[idx],
        }
    }

    /// What the part's nodes wrote.
    #[inline(always)]
    pub fn letters(&self) -> Letters<'_, R> {
        let Self { shape, values, masks, extents } = self;
        Letters { shape: *shape, values, masks, extents }
    }

    fn slot_of(self, idx: usize) -> Slot<'m, R> {
        let (width, words) = (self.shape.width, self.shape.words());
        Slot {
            shape: self.shape,
            values: &mut self.values[idx * width..][..width],
            mask: &mut self.masks[idx * words..][..words],
            extent: &mut self.extents[idx],
        }
    }

    fn split(self, nodes: usize) -> (Self, Self) {
        let shape = self.shape;
        let (values, more_values) = self.values.split_at_mut(nodes * shape.width);
        let (masks, more_masks) = self.masks.split_at_mut(nodes * shape.words());
        let (extents, more_extents) = self.extents.split_at_mut(nodes);
        let first = Self { shape, values, masks, extents };
        (first, Self { shape, values: more_values, masks: more_masks, extents: more_extents })
    }
}

/// The messages of some nodes, to be read.
#[derive(Clone, Copy, Debug)]
pub struct Letters<'a, R> {
    shape: Shape,
    values: &'a [R],
    masks: &'a [u64],
    extents: &'a [Extent],
}

impl<'a, R: Real> Letters<'a, R> {
    /// That of the `idx`-th node. Nothing is looked up before it is asked for: most readers want
    /// the numbers only.
    #[inline(always)]
    pub fn get(self, idx: usize) -> Letter<'a, R> {
        Letter { among: self, idx }
    }
}

/// Where one message is written. Only released values can be.
#[derive(Debug)]
pub struct Slot<'m, R> {
    shape: Shape,
    values: &'m mut [R],
    mask: &'m mut [u64],
    extent: &'m mut Extent,
}

impl<R: Real> Slot<'_, R> {
    /// Sends all of it. For messages without masks; with one, mark everything. On a lattice the
    /// values are points of it.
    #[inline(always)]
    pub fn send(&mut self, values: &Released<Vec<R>>) {
        self.values.copy_from_slice(values.get());
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

    /// Multiplies the coordinates that the mask marks by `share` and sends what they are then:
    /// [`Slot::send_masked`] in one pass over memory.
    #[inline(always)]
    pub fn deal(&mut self, values: &mut Released<Vec<R>>, share: R, mask: &[u64]) {
        self.mask.copy_from_slice(mask);
        *self.extent = Extent::Masked;
        let bits = self.shape.mask_bits;
        values.update(
            #[inline(always)]
            |values| {
                // Without a division, which would take as long as a plane.
                let (mut out, mut values) = (&mut *self.values, &mut values[..]);
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

    /// Moves values by `-size` times `by`, where there is something to move by, multiplies all of
    /// them by `share` and sends what they are then: in one pass over memory.
    #[inline(always)]
    pub fn step_and_send(
        &mut self,
        values: &mut Released<Vec<R>>,
        size: R,
        by: &Released<Vec<R>>,
        share: R,
    ) {
        *self.extent = Extent::Dense;
        values.update(
            #[inline(always)]
            |values| {
                assert_eq!(values.len(), self.values.len(), "a message of all values");
                let moved = by.get().len();
                let (values, rest) = values.split_at_mut(moved);
                let (out, out_rest) = self.values.split_at_mut(moved);
                for ((out, value), by) in out.iter_mut().zip(values).zip(by.get()) {
                    *value = (*value - size * *by) * share;
                    *out = *value;
                }
                for (out, value) in out_rest.iter_mut().zip(rest) {
                    *value *= share;
                    *out = *value;
                }
            },
        );
    }

    /// Multiplies all values by `share` and sends what they are then: in one pass over memory.
    #[inline(always)]
    pub fn scale_and_send(&mut self, values: &mut Released<Vec<R>>, share: R) {
        self.step_and_send(values, R::ZERO, &nothing(0), share);
    }

    /// Tells the hearers that there is nothing new.
    pub fn stay_silent(&mut self) {
        self.values.fill(R::ZERO);
        *self.extent = Extent::Silent;
    }
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

/// The words of a mask in halves: as wide as a single-precision number, which vectorises better.
#[inline(always)]
pub(crate) fn halves(mask: &[u64]) -> impl Iterator<Item = u32> {
    mask.iter().flat_map(|word| [*word as u32, (*word >> 32) as u32])
}

/// A message as its reader sees it.
#[derive(Clone, Copy, Debug)]
pub struct Letter<'a, R> {
    among: Letters<'a, R>,
    idx: usize,
}

impl<'a, R: Real> Letter<'a, R> {
    /// All numbers, zero where not sent.
    #[inline(always)]
    pub fn values(&self) -> &'a [R] {
        let width = self.among.shape.width;
        &self.among.values[self.idx * width..][..width]
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
        self.among.shape
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
