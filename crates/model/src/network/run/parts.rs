//! Records of a group on several threads.

use std::ops::Range;

use rayon::prelude::*;
use undertone_real::Real;

use super::super::plan::Plan;
use super::super::program::Program;
use super::Group;
use crate::loss::Loss;
use crate::objective::{Batch, Clipped, Scratch};

impl<'a, R: Real> Group<'a, R> {
    /// As [`Group::new`] and [`Group::differentiate`]: every thread does so with a part of the
    /// records, of which none depends on another, and their derivatives are put together.
    #[expect(clippy::too_many_arguments, reason = "what an objective is asked with, and its parts")]
    pub(super) fn in_parts(
        program: &'a Program,
        plan: &'a Plan,
        x: &'a [R],
        group: Range<usize>,
        batch: Batch<'a, R>,
        scratch: &'a mut Scratch<R>,
        (loss, clip): (Loss, f64),
        clipped: &mut Clipped,
    ) -> Self {
        let (start, records) = (group.start, group.len());
        let n_threads = scratch.threads_for(program.multiplications() * records);
        let size = plan.size * records + plan.workspace;
        let (memory, packing, threads) = scratch.take_all(size);
        let (workspace, memory) = memory.split_at_mut(plan.workspace);
        let threads = &mut threads[..n_threads];
        // There may be fewer records than threads.
        let each = records.div_ceil(n_threads);
        let mut parts: Vec<(Group<'_, R>, Clipped)> = threads[..records.div_ceil(each)]
            .par_iter_mut()
            .enumerate()
            .map(|(k, scratch)| {
                let [first, last] = [k, k + 1].map(|k| group.end.min(start + k * each));
                let mut part = Group::new(program, plan, x, first..last, batch, scratch);
                let mut clipped = Clipped::default();
                part.differentiate(loss, clip, &mut clipped);
                (part, clipped)
            })
            .collect();

        // If one needs its records in memory, because it has left something out, all do.
        let rows = batch.rows(group).filter(|_| parts.iter().all(|(part, _)| part.rows.is_some()));
        for (part, of_part) in &mut parts {
            clipped.shortened += of_part.shortened;
            clipped.dropped += of_part.dropped;
            if rows.is_none() && part.rows.take().is_some() {
                part.load();
            }
            let input = rows.is_none().then_some(plan.values[0]);
            for place in plan.entries().chain(input) {
                let from = &part.memory[place.range(part.records)];
                let to = &mut memory[place.range(records)];
                to[(part.start - start) * place.size..][..from.len()].copy_from_slice(from);
            }
        }
        drop(parts);
        Self { program, plan, x, batch, start, records, rows, memory, workspace, packing, threads }
    }
}
