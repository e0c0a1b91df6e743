//! Several groups at once, each on a thread of its own.

use std::ops::Range;

use undertone_real::Real;

use super::super::program::Program;
use super::{Asked, Group};
use crate::loss::Loss;
use crate::objective::{Clipped, Scratch};

/// Writes the sum of clipped gradients of as many groups as can be shared out evenly among threads,
/// if there are several threads, and if the parameters can be shared out as well. The others are
/// left. The bits are those of one group after the other.
pub(super) fn add_most<R: Real>(
    asked: Asked<'_, R>,
    groups: &mut (impl Iterator<Item = Range<usize>> + Clone),
    how: (Loss, f64),
    scratch: &mut Scratch<R>,
    clipped: &mut Clipped,
    out: &mut [R],
) {
    let program = asked.program;
    if scratch.threads() == 1 || !can_be_shared(program) {
        return;
    }
    loop {
        let next: Vec<Range<usize>> = groups.clone().take(scratch.threads()).collect();
        let [first, .., last] = &next[..] else { return };
        let multiplications = program.multiplications() * (last.end - first.start);
        if scratch.threads_for(multiplications) < next.len() {
            return;
        }
        groups.nth(next.len() - 1);
        add(asked, next, how, scratch, clipped, out);
    }
}

/// Whether no step has more to multiply than all others together: parameters are shared out by
/// steps.
fn can_be_shared(program: &Program) -> bool {
    let most = program.steps.iter().map(|step| step.multiplications()).max();
    2 * most.unwrap_or(0) <= program.multiplications()
}

/// Groups that follow each other, as many as there are threads at most.
fn add<R: Real>(
    asked: Asked<'_, R>,
    groups: Vec<Range<usize>>,
    how: (Loss, f64),
    scratch: &mut Scratch<R>,
    clipped: &mut Clipped,
    out: &mut [R],
) {
    let (_, _, threads) = scratch.take_all(0);
    let mut groups = Group::each(asked, groups.into_iter(), threads, how, clipped);
    // Each thread has all groups in turn for its steps: no number is added to by two of them.
    let shares = share_out(asked.program, groups.len(), out);
    let (done, tools): (Vec<_>, Vec<_>) = groups
        .iter_mut()
        .map(|group| {
            let more = group.start > 0;
            let (done, tools, _) = group.done();
            ((done, more), tools)
        })
        .unzip();
    undertone_threads::each(shares.into_iter().zip(tools), |(share, mut tools)| {
        for (k, out) in share {
            for (group, more) in &done {
                group.add_step(k, out, *more, tools.again(), &mut []);
            }
        }
    });
}

/// A step and its part of the sum.
type Task<'a, R> = (usize, &'a mut [R]);

/// Steps with parameters for each thread, so that each has about as much to multiply: the most
/// laborious first, each to whom has least.
fn share_out<'a, R>(program: &Program, threads: usize, out: &'a mut [R]) -> Vec<Vec<Task<'a, R>>> {
    let mut tasks = Vec::new();
    let (mut rest, mut at) = (out, 0);
    for (k, step) in program.steps.iter().enumerate() {
        let parameters = step.parameters();
        if parameters.is_empty() {
            continue;
        }
        assert_eq!(parameters.start, at, "steps have their parameters in order");
        let (own, others) = rest.split_at_mut(parameters.len());
        tasks.push((k, own));
        (rest, at) = (others, parameters.end);
    }
    tasks.sort_by_key(|(k, _)| std::cmp::Reverse(program.steps[*k].multiplications()));
    let mut shares: Vec<(usize, Vec<Task<'a, R>>)> =
        (0..threads).map(|_| (0, Vec::new())).collect();
    for task in tasks {
        let least = shares.iter_mut().min_by_key(|(load, _)| *load).expect("there are threads");
        least.0 += program.steps[task.0].multiplications() + task.1.len();
        least.1.push(task);
    }
    shares.into_iter().map(|(_, tasks)| tasks).collect()
}
