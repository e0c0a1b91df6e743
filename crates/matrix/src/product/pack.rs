//! Copies blocks together, so that the kernel reads memory in order.

use super::Mat;
use crate::lanes::Lane;

/// Whole lines of a known width, again in registers.
#[inline(always)]
fn copy_lines<L: Lane, const N: usize>(b: Mat<'_, L>, packed: &mut [L]) {
    let rows = packed.as_chunks_mut::<N>().0.iter_mut();
    for (row, line) in rows.zip(b.data.chunks(b.step)) {
        row.copy_from_slice(&line[..N]);
    }
}

/// A right block as rows of `full` numbers, filled up with zeros.
#[inline(always)]
pub(super) fn pack<L: Lane>(b: Mat<'_, L>, full: usize, packed: &mut [L]) {
    let width = b.columns;
    if !b.transposed && width == full {
        match full {
            16 => return copy_lines::<L, 16>(b, packed),
            32 => return copy_lines::<L, 32>(b, packed),
            48 => return copy_lines::<L, 48>(b, packed),
            64 => return copy_lines::<L, 64>(b, packed),
            _ => {}
        }
    }
    if !b.transposed {
        for (row, line) in packed.chunks_exact_mut(full).zip(b.data.chunks(b.step)) {
            row[..width].copy_from_slice(&line[..width]);
            row[width..].fill(L::default());
        }
        return;
    }
    if width < full {
        packed.fill(L::default());
    }
    let mut lines = b.data.chunks(b.step).take(width);
    for place in (0..width).step_by(4) {
        let four: [&[L]; 4] =
            std::array::from_fn(|_| lines.next().map_or(&[][..], |line| &line[..b.rows]));
        if four[3].is_empty() {
            for (place, line) in (place..width).zip(four) {
                for (row, value) in packed.chunks_exact_mut(full).zip(line) {
                    row[place] = *value;
                }
            }
            return;
        }
        let [a, b, c, d] = four;
        for (row, (((a, b), c), d)) in
            packed.chunks_exact_mut(full).zip(a.iter().zip(b).zip(c).zip(d))
        {
            row[place..place + 4].copy_from_slice(&[*a, *b, *c, *d]);
        }
    }
}
