//! Copies blocks together, so that the kernel reads memory in order.

use super::Mat;
use super::tile::next_rows;
use undertone_real::Real;

/// Whole lines of a known width, again in registers.
#[inline(always)]
fn copy_lines<L: Real, const N: usize>(b: Mat<'_, L>, packed: &mut [L]) {
    let rows = packed.as_chunks_mut::<N>().0.iter_mut();
    for (row, line) in rows.zip(b.data.chunks(b.step)) {
        row.copy_from_slice(&line[..N]);
    }
}

/// A right block as rows of `full` numbers, filled up with zeros.
#[inline(always)]
pub(super) fn pack<L: Real>(b: Mat<'_, L>, full: usize, packed: &mut [L]) {
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
            row[width..].fill(L::ZERO);
        }
        return;
    }
    if width < full {
        packed.fill(L::ZERO);
    }
    let mut place = 0;
    while place < width {
        place += match width - place {
            4.. => turn::<L, 4>(b, full, place, packed),
            _ => turn::<L, 1>(b, full, place, packed),
        };
    }
}

/// Some lines of a transposed block, as columns from a place on; how many they are. Four numbers of
/// each at a time are turned in registers.
#[inline(always)]
fn turn<L: Real, const N: usize>(
    b: Mat<'_, L>,
    full: usize,
    place: usize,
    packed: &mut [L],
) -> usize {
    let lines: [&[L]; N] = std::array::from_fn(|i| &b.data[(place + i) * b.step..][..b.rows]);
    let blocks = lines.map(|line| line.as_chunks::<4>().0);
    for k in 0..b.rows / 4 {
        let block = blocks.map(|line| line[k]);
        let rows = &mut packed[4 * k * full..][..4 * full];
        for i in 0..4 {
            rows[i * full + place..][..N].copy_from_slice(&block.map(|line| line[i]));
        }
    }
    for k in b.rows / 4 * 4..b.rows {
        packed[k * full + place..][..N].copy_from_slice(&lines.map(|line| line[k]));
    }
    N
}

/// A transposed left block as the tiles of at most so many rows that it is taken in: for every
/// inner index the numbers of a tile's rows.
#[inline(always)]
pub(super) fn pack_left<'a, L: Real>(a: Mat<'_, L>, most: usize, packed: &'a mut [L]) -> &'a [L] {
    let mut row = 0;
    while row < a.rows {
        let rows = next_rows(a.rows - row, most);
        let tile = &mut packed[row * a.columns..][..rows * a.columns];
        match rows {
            6 => copy_tile::<L, 6>(a, row, tile),
            _ => {
                for (k, to) in tile.chunks_exact_mut(rows).enumerate() {
                    to.copy_from_slice(&a.from(row, k)[..rows]);
                }
            }
        }
        row += rows;
    }
    packed
}

#[inline(always)]
fn copy_tile<L: Real, const N: usize>(a: Mat<'_, L>, row: usize, tile: &mut [L]) {
    for (k, to) in tile.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        to.copy_from_slice(&a.from(row, k)[..N]);
    }
}
