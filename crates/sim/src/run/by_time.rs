//! Runs over links that delay and lose, with nodes that come and go.

use undertone_graph::NodeId;
use undertone_node::plan::PlanError;
use undertone_node::{Algorithm, Experiment, Oracle};
use undertone_privacy::ledger::Store;
use undertone_protocol::{Machine, Patience, Question, Synchronous, Topology};
use undertone_real::Real;

use super::{Job, Looks, Run, RunError, Watch, by_meeting};
use crate::events::{Events, Flow, Happening, Outcome};
use crate::lockstep::Traffic;
use crate::world::World;

/// The `[world]` of an experiment's plan, checked; none if all is ideal.
pub fn world_of(experiment: &Experiment) -> Result<Option<World>, PlanError> {
    let world = read(experiment)?;
    if let Algorithm::Adp2Sgd { .. } = experiment.algorithm() {
        by_meeting::check(experiment, world.as_ref())?;
    }
    Ok(world)
}

fn read(experiment: &Experiment) -> Result<Option<World>, PlanError> {
    let Some(written) = &experiment.plan().world else { return Ok(None) };
    let written = serde_json::Value::Object(written.clone());
    let world: World = serde_json::from_value(written)
        .map_err(|error| PlanError::new("world", error.to_string()))?;
    let checked = world.check(experiment.nodes() as usize);
    checked.map_err(|e| PlanError::new(format!("world.{}", e.part), e.complaint))?;
    Ok(Some(world))
}

impl Job<'_> {
    /// By virtual time. Nodes drift apart, so a look is taken whenever they have done another
    /// `every` rounds on average.
    pub(super) fn by_time<R, S, P>(
        &self,
        nodes: Vec<P>,
        oracles: Vec<Oracle<R, S>>,
        topology: Topology,
        mut world: World,
        watch: &mut Watch<'_>,
    ) -> Result<Run, RunError>
    where
        R: Real,
        S: Store,
        P: Synchronous<R>,
    {
        let plan = self.experiment.plan();
        // Every repetition has its own luck.
        world.seed = world.seed.wrapping_add(self.seed);
        let patience =
            if world.deadline.is_some() { Patience::Deadline } else { Patience::Forever };
        let (n_nodes, rounds) = (nodes.len() as u64, plan.run.rounds);
        let machine = |(id, node)| Machine::new(node, NodeId(id), rounds, patience);
        let machines = (0..).zip(nodes).map(machine).collect();
        let answer = |oracle: &mut Oracle<R, S>, question: Question<R>| oracle.answer(question);
        let mut events = Events::new(machines, oracles, answer, topology, world)?;
        let mut looks = Looks::new(self, watch);
        let (mut answers, mut mixed, mut next) = (0, 0, plan.evaluate.every);
        while events.step()? {
            for happening in events.happenings() {
                match happening {
                    Happening::Answered { round: 0, .. } => answers += 1,
                    Happening::RoundDone { .. } => mixed += 1,
                    _ => {}
                }
            }
            let time = Some(events.now().seconds());
            if answers == n_nodes && looks.points.is_empty() {
                looks.take(0, time, carried(events.flow()), events.protocols());
                looks.audit(false, events.oracles());
            }
            if mixed == next * n_nodes && !looks.points.is_empty() {
                looks.take(next, time, carried(events.flow()), events.protocols());
                looks.audit(false, events.oracles());
                next += plan.evaluate.every;
            }
            if looks.is_done() {
                break;
            }
        }
        let outcome = events.outcome();
        let done = mixed / n_nodes;
        if looks.points.last().is_none_or(|point| point.round != done) {
            let time = Some(outcome.virtual_time.seconds());
            looks.take(done, time, carried(events.flow()), events.protocols());
        }
        looks.audit(true, events.oracles());
        let notes = notes(&outcome, looks.is_done());
        let (seen, flow) = (looks.seen(), carried(outcome.flow));
        let run = self.finish(seen, done, flow, events.oracles(), notes, watch);
        Ok(run.with_trained(self.experiment, events.protocols()))
    }
}

/// What the wires carried: also what was sent again.
fn carried(flow: Flow) -> Traffic {
    Traffic {
        messages: flow.sent.messages + flow.retransmitted.messages,
        bytes: flow.sent.bytes + flow.retransmitted.bytes,
    }
}

fn notes(outcome: &Outcome, stopped: bool) -> Vec<String> {
    let flow = &outcome.flow;
    let mut notes = vec![format!(
        "{} of virtual time; of {} messages {} were retransmitted, {} doubled, {} lost, {} given \
         up; {} releases",
        outcome.virtual_time,
        flow.sent.messages,
        flow.retransmitted.messages,
        flow.duplicated.messages,
        flow.lost.messages,
        flow.abandoned.messages,
        outcome.releases,
    )];
    if stopped {
        return notes;
    }
    if let Some(first) = outcome.stuck.first() {
        let others = outcome.stuck.len() - 1;
        notes.push(format!(
            "{first}, and {others} others are stuck; set world.deadline, or take \
                            delivery = \"reliable\""
        ));
    }
    notes
}
