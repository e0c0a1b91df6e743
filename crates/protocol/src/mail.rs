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

mod letter;
mod message;
mod slot;

use undertone_graph::NodeId;
use undertone_real::Real;

use crate::aligned::{Aligned, LINE};
use crate::lattice::Lattice;
use crate::topology::Neighbourhood;

pub(crate) use letter::are_finite;
pub use letter::{Letter, Letters};
pub use message::Message;
pub use slot::Slot;
pub(crate) use slot::fetch_from;

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

    /// How far apart the rows of a [`Mail`] are. Each begins with a cache line, so that none of its
    /// vectors lies across two, unless that would take more than an eighth more memory.
    const fn stride<R>(&self) -> usize {
        let whole_lines = self.width.next_multiple_of(LINE / size_of::<R>());
        if whole_lines - self.width <= self.width / 8 { whole_lines } else { self.width }
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

/// The messages of one round: a row of numbers for every node, in one piece of memory.
#[derive(Debug)]
pub struct Mail<R> {
    shape: Shape,
    values: Aligned<R>,
    masks: Vec<u64>,
    extents: Vec<Extent>,
}

impl<R: Real> Mail<R> {
    /// Empty rows.
    pub fn new(n_nodes: usize, shape: Shape) -> Self {
        Self {
            shape,
            values: Aligned::zeros(n_nodes * shape.stride::<R>()),
            masks: vec![0; n_nodes * shape.words()],
            extents: vec![Extent::Silent; n_nodes],
        }
    }

    /// Where a node writes its message.
    pub fn slot(&mut self, node: NodeId) -> Slot<'_, R> {
        self.whole().into_slot(node.idx())
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
        let Self { shape, values, masks, extents } = self;
        Letters::new(shape, shape.stride::<R>(), values, masks, extents).get(from.idx())
    }

    /// The messages that a node hears if none is lost, in order.
    #[inline(always)]
    pub fn heard_by<'a>(
        &'a self,
        around: &Neighbourhood<'a>,
    ) -> impl Iterator<Item = (NodeId, Letter<'a, R>)> + Clone {
        around.heard.iter().map(|&from| (from, self.letter(from)))
    }

    fn whole(&mut self) -> MailPart<'_, R> {
        MailPart {
            shape: self.shape,
            values: &mut self.values,
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
        let Self { shape, values, masks, extents } = self;
        MailPart { shape: *shape, values, masks, extents }.into_slot(idx)
    }

    /// What the part's nodes wrote.
    #[inline(always)]
    pub fn letters(&self) -> Letters<'_, R> {
        let Self { shape, values, masks, extents } = self;
        Letters::new(shape, shape.stride::<R>(), values, masks, extents)
    }

    #[inline(always)]
    fn into_slot(self, idx: usize) -> Slot<'m, R> {
        let (width, words) = (self.shape.width, self.shape.words());
        Slot {
            shape: self.shape,
            values: &mut self.values[idx * self.shape.stride::<R>()..][..width],
            mask: &mut self.masks[idx * words..][..words],
            extent: &mut self.extents[idx],
            ahead: &[],
        }
    }

    fn split(self, nodes: usize) -> (Self, Self) {
        let shape = self.shape;
        let (values, more_values) = self.values.split_at_mut(nodes * shape.stride::<R>());
        let (masks, more_masks) = self.masks.split_at_mut(nodes * shape.words());
        let (extents, more_extents) = self.extents.split_at_mut(nodes);
        let first = Self { shape, values, masks, extents };
        (first, Self { shape, values: more_values, masks: more_masks, extents: more_extents })
    }
}
