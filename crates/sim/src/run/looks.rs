//! The all-seeing observer of a run, who looks now and then.

use undertone_node::Oracle;
use undertone_privacy::ledger::Store;
use undertone_real::Real;
use undertone_trace::Record;

use super::spending::{Follower, Spending};
use super::{Job, Point, Watch};
use crate::evaluate::{Estimate, Evaluator};
use crate::lockstep::Traffic;

/// What the evaluator has seen so far.
pub(super) struct Looks<'w, 'a> {
    evaluator: Evaluator<'w>,
    pub(super) points: Vec<Point>,
    stop_below: Option<f64>,
    rounds: u64,
    /// The metric that decides when to stop.
    first: &'static str,
    watch: &'w mut Watch<'a>,
    follower: Follower,
}

/// What there was to see.
pub(super) struct Seen {
    pub(super) points: Vec<Point>,
    pub(super) spending: Spending,
}

impl<'w, 'a> Looks<'w, 'a> {
    pub(super) fn new(job: &Job<'w>, watch: &'w mut Watch<'a>) -> Self {
        let plan = job.experiment.plan();
        Self {
            evaluator: Evaluator::new(job.experiment, job.seed),
            points: Vec::new(),
            stop_below: plan.run.stop_below,
            rounds: plan.run.rounds,
            first: plan.evaluate.metrics[0].name(),
            watch,
            follower: Follower::new(job),
        }
    }

    /// Looks at the ledgers, beside [`take`](Self::take).
    pub(super) fn audit<'o, R, S, I>(&mut self, last: bool, oracles: I)
    where
        R: Real + 'o,
        S: Store + 'o,
        I: IntoIterator<Item = &'o Oracle<R, S>>,
    {
        let Some(point) = self.points.last() else { return };
        self.follower.look(point.round, point.time, last, oracles.into_iter());
    }

    pub(super) fn seen(self) -> Seen {
        Seen { points: self.points, spending: self.follower.spending }
    }

    pub(super) fn take<'n, P, R, I>(
        &mut self,
        round: u64,
        time: Option<f64>,
        traffic: Traffic,
        nodes: I,
    ) where
        P: Estimate<R> + 'n,
        R: Real,
        I: IntoIterator<Item = &'n P> + Clone,
    {
        let metrics = self.evaluator.measure(nodes);
        let Traffic { messages, bytes } = traffic;
        let record = Record::Round { round, time, messages, bytes, metrics: metrics.clone() };
        (self.watch.record)(record);
        (self.watch.progress)(round, self.rounds);
        self.points.push(Point { round, time, metrics });
    }

    pub(super) fn is_done(&self) -> bool {
        let below =
            |limit: f64| self.points.last().is_some_and(|point| point.metrics[self.first] < limit);
        self.stop_below.is_some_and(below)
    }
}
