//! Records of a group on several threads.

use std::ops::Range;

use undertone_real::Real;

use super::super::plan::Place;
use super::{Asked, Group};
use crate::loss::Loss;
use crate::objective::{Clipped, Scratch};

impl<'a, R: Real> Group<'a, R> {
    /// As [`Group::new`] and [`Group::differentiate`]: every thread does so with a part of the
    /// records, of which none depends on another, and their derivatives are put together.
    pub(super) fn in_parts(
        asked: Asked<'a, R>,
        group: Range<usize>,
        scratch: &'a mut Scratch<R>,
        how: (Loss, f64),
        clipped: &mut Clipped,
    ) -> Self {
        let Asked { program, plan, x, batch } = asked;
        let (start, records) = (group.start, group.len());
        let n_threads = scratch.threads_for(program.multiplications() * records);
        let size = plan.size * records + plan.workspace;
        let (memory, packing, threads) = scratch.take_all(size);
        let (workspace, memory) = memory.split_at_mut(plan.workspace);
        let threads = &mut threads[..n_threads];
        // There may be fewer records than threads.
        let each = records.div_ceil(n_threads);
        let ranges = (start..group.end).step_by(each).map(|k| k..group.end.min(k + each));
        let mut parts = Group::each(asked, ranges, threads, how, clipped);

        // If one needs its records in memory, because it has left something out, all do.
        let rows = batch.rows(group).filter(|_| parts.iter().all(|part| part.rows.is_some()));
        let input = rows.is_none().then_some(plan.values[0]);
        let mut places: Vec<Place> = plan.entries().chain(input).collect();
        places.sort_unstable();
        let together = shares(memory, &places, parts.iter().map(|part| part.records).collect());
        // Whoever has computed them puts them there: they are near.
        undertone_threads::each(parts.iter_mut().zip(together), |(part, together)| {
            if rows.is_none() && part.rows.take().is_some() {
                part.load();
            }
            for (place, to) in places.iter().zip(together) {
                to.copy_from_slice(part.at(*place));
            }
        });
        drop(parts);
        Self { program, plan, x, batch, start, records, rows, memory, workspace, packing, threads }
    }

    /// Some groups with derivatives of clipped losses, each on a thread with memory of its own.
    pub(super) fn each(
        asked: Asked<'a, R>,
        groups: impl Iterator<Item = Range<usize>>,
        threads: &'a mut [Scratch<R>],
        how: (Loss, f64),
        clipped: &mut Clipped,
    ) -> Vec<Self> {
        let tasks: Vec<_> = threads.iter_mut().zip(groups).collect();
        let mut done: Vec<Option<(Self, Clipped)>> = tasks.iter().map(|_| None).collect();
        undertone_threads::each(tasks.into_iter().zip(&mut done), |((scratch, group), done)| {
            let mut group = Group::new(asked, group, scratch);
            let mut clipped = Clipped::default();
            group.differentiate(how, &mut clipped);
            *done = Some((group, clipped));
        });
        let done = done.into_iter().map(|done| done.expect("each was called for"));
        done.map(|(group, of_group)| {
            *clipped += of_group;
            group
        })
        .collect()
    }
}

/// Of memory for all records, that for each of some parts, which have so many records: at every
/// place, which have to be in order.
fn shares<'m, R>(
    memory: &'m mut [R],
    places: &[Place],
    parts: Vec<usize>,
) -> Vec<Vec<&'m mut [R]>> {
    let records = parts.iter().sum();
    let mut shares: Vec<Vec<&'m mut [R]>> = parts.iter().map(|_| Vec::new()).collect();
    let (mut rest, mut at) = (memory, 0);
    for place in places {
        let range = place.range(records);
        let (of_place, others) = rest[range.start - at..].split_at_mut(range.len());
        (rest, at) = (others, range.end);
        let mut left = of_place;
        for (share, records) in shares.iter_mut().zip(&parts) {
            let (own, others) = left.split_at_mut(records * place.size);
            share.push(own);
            left = others;
        }
    }
    shares
}
