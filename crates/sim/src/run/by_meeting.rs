//! Runs without rounds: nodes meet in pairs, each at its own pace.

use undertone_node::plan::PlanError;
use undertone_node::{Experiment, Learner, Oracle};
use undertone_privacy::ledger::Tally;
use undertone_protocol::{PairwiseSgd, Question, Steps};
use undertone_real::Real;

use super::{Job, Looks, Run, RunError, Watch, world_of};
use crate::asynchronous::{Asynchronous, Outcome};
use crate::evaluate::{Estimate, Paired};
use crate::time::Time;
use crate::world::World;

/// What of a world means something without rounds: how long computing takes.
pub(super) fn check(experiment: &Experiment, world: Option<&World>) -> Result<(), PlanError> {
    let word = "adp2-sgd runs by virtual time";
    let Some(world) = world else {
        let message = format!(
            "{word}; add [world.compute] with model = \"uniform\", low = 0.5 and high = 1.5"
        );
        return Err(PlanError::new("world", message));
    };
    let ideal = World { compute: world.compute.clone(), seed: world.seed, ..World::default() };
    if *world != ideal {
        let message = format!("{word} over ideal links, where nothing fails; leave the rest out");
        return Err(PlanError::new("world", message));
    }
    if experiment.plan().run.stop_below.is_some() {
        let message = format!("{word} until every node has done its part; leave it out");
        return Err(PlanError::new("run.stop-below", message));
    }
    Ok(())
}

impl Job<'_> {
    /// By virtual time. A round is as many activations as there are nodes.
    pub(super) fn meet<R: Real>(&self, steps: Steps, watch: &mut Watch<'_>) -> Result<Run, RunError>
    where
        for<'n> Paired<'n, R>: Estimate<R>,
    {
        (watch.record)(self.start());
        let seed = self.seed;
        let wrong = |source| RunError::Plan { seed, source };
        let world = world_of(self.experiment).map_err(wrong)?.unwrap_or_default();
        let wiring = self.topology()?.wiring_at(0);
        let graph = wiring.map_err(|source| RunError::Topology { round: 0, source })?.graph;
        let learners = self.experiment.learners(seed).map_err(wrong)?;
        let start = self.experiment.initial::<R>(seed);
        let split = |learner: Learner<R>| {
            let steps = Steps { divisor: learner.divisor, ..steps };
            (PairwiseSgd::new(&start, steps), learner.oracle)
        };
        let (nodes, oracles): (Vec<_>, Vec<_>) = learners.into_iter().map(split).unzip();
        let n_nodes = nodes.len() as u64;
        let answer = |oracle: &mut Oracle<R, Tally>, asked: Question<R>| oracle.answer(asked);
        let luck = world.seed.wrapping_add(seed);
        let mut network = Asynchronous::new(nodes, oracles, answer, graph, world.compute, luck)?;
        let every = self.experiment.plan().evaluate.every;
        let mut looks = Looks::new(self, watch);
        let mut look = |round, now: Time, traffic, nodes: &[PairwiseSgd<R>], oracles: &[_]| {
            let nodes: Vec<_> = nodes.iter().map(Paired).collect();
            looks.take(round, Some(now.seconds()), traffic, &nodes);
            looks.audit(round == steps.rounds, oracles);
        };
        look(0, Time::ZERO, network.traffic(), network.nodes(), network.oracles());
        let mut activations = 0;
        let outcome = network.run(&mut |now, traffic, nodes, oracles| {
            activations += 1;
            let rounds = activations / n_nodes;
            let whole = activations % n_nodes == 0;
            if whole && (rounds.is_multiple_of(every) || rounds == steps.rounds) {
                look(rounds, now, traffic, nodes, oracles);
            }
        })?;
        let (notes, traffic) = (notes(outcome), outcome.traffic);
        let (seen, oracles) = (looks.seen(), network.oracles());
        let run = self.finish(seen, steps.rounds, traffic, oracles.iter(), notes, watch);
        let nodes: Vec<_> = network.nodes().iter().map(Paired).collect();
        Ok(run.with_trained(self.experiment, &nodes))
    }
}

fn notes(outcome: &Outcome) -> Vec<String> {
    vec![format!(
        "{} of virtual time; {} activations, {} of them refused; a point had moved {} times at \
         most while its gradient was computed",
        outcome.virtual_time,
        outcome.activations.iter().sum::<u64>(),
        outcome.refused,
        outcome.stalest,
    )]
}
