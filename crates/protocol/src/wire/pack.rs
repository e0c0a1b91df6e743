//! Points of a lattice, bit by bit.

use undertone_real::Real;

use super::DecodeError;
use crate::lattice::Lattice;

/// Appends the numbers of the points. What is on no point is written as the nearest.
pub(super) fn write<R: Real>(bytes: &mut Vec<u8>, lattice: Lattice, values: &[R]) {
    let (mut held, mut n_held) = (0_u64, 0);
    for value in values {
        let mut point = [*value];
        lattice.round(&mut point);
        let index = lattice.index(point[0]).expect("rounding ends on the lattice");
        held |= ((index + lattice.farthest()) as u64) << n_held;
        n_held += lattice.bits();
        while n_held >= 8 {
            bytes.push(held as u8);
            held >>= 8;
            n_held -= 8;
        }
    }
    if n_held > 0 {
        bytes.push(held as u8);
    }
}

/// The points whose numbers are in `bytes`, of which there are just enough.
pub(super) fn read<R: Real>(
    bytes: &[u8],
    lattice: Lattice,
    count: usize,
) -> Result<Vec<R>, DecodeError> {
    let mut points = Vec::with_capacity(count);
    let (mut held, mut n_held, mut bytes) = (0_u64, 0, bytes.iter());
    for at in 0..count {
        while n_held < lattice.bits() {
            held |= u64::from(*bytes.next().expect("the length was checked")) << n_held;
            n_held += 8;
        }
        let index = (held & ((1 << lattice.bits()) - 1)) as i64 - lattice.farthest();
        if index > lattice.farthest() {
            return Err(DecodeError::OffLattice { at });
        }
        points.push(lattice.point(index));
        held >>= lattice.bits();
        n_held -= lattice.bits();
    }
    if held != 0 {
        return Err(DecodeError::OffLattice { at: count });
    }
    Ok(points)
}
