//! Copies blocks together, so that the kernel reads memory in order.

use super::{Mat, ROWS, next_rows};
use crate::lanes::Lane;

/// A transposed left block in groups of rows; another is read where it lies.
#[inline(always)]
pub(super) fn pack_left<'a, L: Lane>(a: Mat<'_, L>, packed: &'a mut [L]) -> Option<&'a [L]> {
    if !a.transposed {
        return None;
    }
    let packed = &mut packed[..a.rows * a.columns];
    let mut row = 0;
    while row < a.rows {
        let rows = next_rows(a.rows - row);
        let group = &mut packed[row * a.columns..][..rows * a.columns];
        match rows {
            ROWS => copy::<L, ROWS>(a, row, group),
            4 => copy::<L, 4>(a, row, group),
            _ => {
                for (k, group) in group.chunks_exact_mut(rows).enumerate() {
                    group.copy_from_slice(&a.from(row, k)[..rows]);
                }
            }
        }
        row += rows;
    }
    Some(packed)
}

/// A known number of numbers is moved in registers.
#[inline(always)]
fn copy<L: Lane, const N: usize>(a: Mat<'_, L>, row: usize, group: &mut [L]) {
    let groups = group.as_chunks_mut::<N>().0.iter_mut();
    match a.lines {
        None => {
            for (group, line) in groups.zip(a.from(row, 0).chunks(a.step)) {
                group.copy_from_slice(&line[..N]);
            }
        }
        Some(lines) => {
            for (group, line) in groups.zip(lines) {
                group.copy_from_slice(&a.data[line * a.step + row..][..N]);
            }
        }
    }
}

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
pub(super) fn pack_right<L: Lane>(b: Mat<'_, L>, full: usize, packed: &mut [L]) {
    let width = b.columns;
    if !b.transposed && width == full {
        match full {
            8 => return copy_lines::<L, 8>(b, packed),
            16 => return copy_lines::<L, 16>(b, packed),
            32 => return copy_lines::<L, 32>(b, packed),
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
