//! Messages that are kept.

use undertone_privacy::release::Released;
use undertone_real::Real;

use super::{Extent, Letter, Letters, Shape, Slot};

/// A message that outlives its round: on the way, or waiting to be read.
#[derive(Clone, Debug)]
pub struct Message<R> {
    round: u64,
    shape: Shape,
    values: Vec<R>,
    mask: Vec<u64>,
    extent: Extent,
    /// Whether its numbers are known to be sound: they were looked at when they were read.
    is_checked: bool,
}

impl<R: PartialEq> PartialEq for Message<R> {
    fn eq(&self, other: &Self) -> bool {
        let Self { round, shape, values, mask, extent, is_checked: _ } = self;
        (round, shape, values) == (&other.round, &other.shape, &other.values)
            && (mask, extent) == (&other.mask, &other.extent)
    }
}

impl<R: Real> Message<R> {
    /// A message of what `write` puts into its slot.
    pub fn write(round: u64, shape: Shape, write: impl FnOnce(&mut Slot<'_, R>)) -> Self {
        let values = vec![R::ZERO; shape.width];
        let mask = vec![0; shape.words()];
        let extent = Extent::Silent;
        let mut message = Self { round, shape, values, mask, extent, is_checked: false };
        let Self { values, mask, extent, .. } = &mut message;
        write(&mut Slot { shape, values, mask, extent, ahead: &[] });
        message
    }

    /// The same, in the memory of a message that nobody needs, if there is one of that shape.
    pub(crate) fn write_over(
        old: Option<Self>,
        round: u64,
        shape: Shape,
        write: impl FnOnce(&mut Slot<'_, R>),
    ) -> Self {
        let Some(mut message) = old.filter(|old| old.shape == shape) else {
            return Self::write(round, shape, write);
        };
        (message.round, message.extent, message.is_checked) = (round, Extent::Silent, false);
        let Self { values, mask, extent, .. } = &mut message;
        write(&mut Slot { shape, values, mask, extent, ahead: &[] });
        if message.extent == Extent::Silent {
            message.values.fill(R::ZERO);
        }
        message
    }

    /// A message of all these numbers, as many as the shape has; they are moved, not copied.
    pub(crate) fn dense(round: u64, shape: Shape, values: Released<Vec<R>>) -> Self {
        let (values, mask) = (values.into_inner(), vec![0; shape.words()]);
        debug_assert_eq!(values.len(), shape.width);
        Self { round, shape, values, mask, extent: Extent::Dense, is_checked: false }
    }

    /// The same message, whose numbers need not be looked at again.
    pub(crate) fn checked(self) -> Self {
        debug_assert!(self.letter().is_sound());
        Self { is_checked: true, ..self }
    }

    /// Its numbers, zero where not sent.
    pub(crate) fn into_values(self) -> Vec<R> {
        self.values
    }

    /// The round it belongs to.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// How large it is.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Whether its numbers are finite and on the lattice, and it has a mask if it should.
    pub(crate) fn is_sound(&self) -> bool {
        self.is_checked || self.letter().is_sound()
    }

    /// What it says.
    pub fn letter(&self) -> Letter<'_, R> {
        let Self { shape, values, mask, extent, .. } = self;
        let extents = std::slice::from_ref(extent);
        Letters::new(shape, shape.width, values, mask, extents).get(0)
    }
}
