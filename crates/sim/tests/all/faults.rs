//! Runs in which much goes wrong, with all invariants checked after every event.

use std::sync::Arc;

use undertone_graph::{Family, Graph, NodeId, Schedule, Weights};
use undertone_node::{Bound, Noise, Oracle, Private, PrivateSteps, PrivateVector};
use undertone_privacy::accountant::gdp;
use undertone_privacy::event::Event;
use undertone_privacy::ledger::Budget;
use undertone_privacy::noise::Key;
use undertone_privacy::units::{Adjacency, Delta, Epsilon, Scale};
use undertone_protocol::{
    Domain, Gossip, Machine, Patience, PushSum, RunningSum, SparsePushSum, Sparsity, Surplus,
    Synchronous, Topology, TwoStage,
};
use undertone_real::Real;
use undertone_sim::events::{Events, Happening, Outcome, SimError, Stuck};
use undertone_sim::faults::{Churn, Fault, FaultKind, Partition};
use undertone_sim::invariants::{Account, Invariant, Invariants, TABLE};
use undertone_sim::links::{Delivery, Latency, Link, Reordering, Retry};
use undertone_sim::{Time, World};

const N: u32 = 40;
const DIMENSION: usize = 3;
const ROUNDS: u64 = 400;
const STEPS: u64 = 50;
const FIRST_STEP: f64 = 0.5;
const MS: fn(u64) -> Time = Time::from_millis;

fn budget() -> Budget {
    Budget { epsilon: Epsilon::new(2.0).unwrap(), delta: Delta::new(1e-6).unwrap() }
}

fn own_values(node: u32) -> Vec<f64> {
    (0..DIMENSION).map(|k| (f64::from(node) * 0.7 + k as f64).sin()).collect()
}

fn open<R: Real>(node: u32, private: Private<R>, plan: Event) -> Oracle<R> {
    Oracle::open(node, private, plan, budget(), Key::from_seed(5), Vec::new()).unwrap()
}

fn of_vector<R: Real>(node: u32) -> Oracle<R> {
    let vector = PrivateVector::new(own_values(node), Bound::Box { radius: 1.0 }, 1);
    let Budget { epsilon, delta } = budget();
    let noise = Noise::calibrated(&vector.sensitivity(), epsilon, delta).unwrap();
    let plan = noise.event(vector.sensitivity());
    open(node, Private::Vector(vector, noise), plan)
}

/// Every step gets the same share of the budget.
fn of_steps<R: Real>(node: u32) -> Oracle<R> {
    let steps = PrivateSteps::new(DIMENSION, own_values(node), Domain::Box { radius: 1.0 });
    let Budget { epsilon, delta } = budget();
    let mu = gdp::mu(epsilon, delta).get() / (STEPS as f64).sqrt();
    let at = |t: u64| steps.sensitivity(FIRST_STEP / t as f64).unwrap();
    let noise = |t| {
        let moved = at(t).under(Adjacency::Replace).unwrap();
        Noise::Gaussian(Scale::new(moved / mu * (1.0 + 1e-9)).unwrap())
    };
    let noise: Arc<[Noise]> = (1..=STEPS).map(noise).collect();
    let events = noise.iter().zip(1..).map(|(noise, t)| noise.event(at(t))).collect();
    open(node, Private::Steps(steps, noise), Event::Composed(events))
}

fn digraph() -> Graph {
    let graph = Family::OutRegular { nodes: N, degree: 6, connected: true }.build(2).unwrap();
    assert!(graph.is_strongly_connected() && !graph.is_symmetric());
    graph
}

/// Gossip keeps its sum with weights whose columns sum to one, too.
fn symmetric() -> Topology {
    let family = Family::RandomRegular { nodes: N, degree: 6, connected: true };
    Topology::new(Schedule::Fixed(family.build(2).unwrap())).with_pull(Weights::Metropolis, 0.0)
}

fn topology() -> Topology {
    let schedule = Schedule::Fixed(digraph());
    Topology::new(schedule).with_pull(Weights::In, 0.0).with_push(Weights::Out)
}

/// 30% loss, 10% duplication, reordering, and a fifth of the nodes crashes now and then.
fn rough(delivery: Delivery) -> World {
    let latency = Latency::Exponential { low: MS(10), mean: MS(10) };
    let reordering = Reordering { probability: 0.1, delay: MS(200) };
    let mut world = World { deadline: Some(MS(100)), seed: 3, ..World::default() };
    world.links.delivery = delivery;
    world.links.retry = Retry { timeout: MS(60), attempts: 32 };
    world.links.link = Link { latency, loss: 0.3, duplication: 0.1, reordering, bandwidth: None };
    world.faults.churn = Some(Churn {
        share: 0.2,
        mean_uptime: MS(4000),
        mean_downtime: MS(1500),
        until: MS(20_000),
    });
    world
}

struct Ran<P, R: Real> {
    events: Events<P, R, Oracle<R>>,
    outcome: Outcome,
    /// The mean of what was released, by the happenings.
    mean: Vec<f64>,
    n_rejoined: usize,
}

impl<P: Synchronous<R>, R: Real> Ran<P, R> {
    /// The largest error of any coordinate of any node.
    fn error(&self) -> f64 {
        let mut worst = 0.0_f64;
        let mut estimate = vec![R::ZERO; DIMENSION];
        for node in self.events.protocols() {
            node.estimate(&mut estimate);
            for (v, mean) in estimate.iter().zip(&self.mean) {
                worst = worst.max((v.to_f64() - mean).abs());
            }
        }
        worst
    }

    fn entries(&self) -> u64 {
        self.events.oracles().map(|oracle| oracle.ledger().len()).sum()
    }
}

/// Runs with all invariants checked after every event.
fn run<P, R>(
    node: P,
    topology: Topology,
    (oracle, planned): (fn(u32) -> Oracle<R>, u64),
    patience: Patience,
    world: World,
) -> Result<Ran<P, R>, SimError>
where
    P: Synchronous<R> + Clone,
    R: Real,
{
    let machines =
        (0..N).map(|i| Machine::new(node.clone(), NodeId(i), ROUNDS, patience)).collect();
    let oracles = (0..N).map(oracle).collect();
    let mut events = Events::new(machines, oracles, Oracle::answer, topology, world)?;
    let mut invariants = Invariants::new(&events, Account::of, planned);
    let (mut mean, mut n_rejoined) = (vec![0.0; DIMENSION], 0);
    while events.step()? {
        invariants.check(&events)?;
        for happening in events.happenings() {
            match happening {
                Happening::Answered { answer, .. } => {
                    let released = answer.clone().released().unwrap();
                    let values = mean.iter_mut().zip(released.get());
                    values.for_each(|(mean, v)| *mean += v.to_f64() / f64::from(N));
                }
                Happening::Rejoined { .. } => n_rejoined += 1,
                _ => {}
            }
        }
    }
    let outcome = events.outcome();
    Ok(Ran { events, outcome, mean, n_rejoined })
}

#[test]
fn running_sums_find_the_average_through_loss_and_churn() {
    let world = rough(Delivery::Datagram);
    let node = RunningSum::<f64>::new(DIMENSION);
    let ran = run(node, topology(), (of_vector, 1), Patience::Deadline, world).unwrap();
    assert!(ran.error() < 1e-9, "error {}", ran.error());
    assert_eq!(ran.outcome.stuck, []);
    assert_eq!((ran.outcome.releases, ran.entries()), (u64::from(N), u64::from(N)));
    let (flow, lost) = (ran.outcome.flow, ran.outcome.flow.lost.messages as f64);
    assert!(lost > 0.29 * flow.sent.messages as f64 && flow.duplicated.messages > 0);
    assert_eq!(flow.retransmitted.messages, 0);
    // Nodes were away for rounds on end and passed over them.
    assert!(ran.n_rejoined > 5, "{} came back", ran.n_rejoined);
    assert!(ran.outcome.rounds.iter().any(|rounds| *rounds < ROUNDS - 10));
}

#[test]
fn who_leaves_takes_its_share_with_it() {
    let mut world = rough(Delivery::Datagram);
    world.faults.churn = None;
    world.faults.events = vec![fault(300, 7, FaultKind::Leave)];
    let node = RunningSum::<f64>::new(DIMENSION);
    let ran = run(node, topology(), (of_vector, 1), Patience::Deadline, world).unwrap();
    // Its sum is conserved (checked at every event), but not where the others can get it.
    assert!(ran.error() > 1e-6, "error {}", ran.error());
    assert_eq!((ran.outcome.stuck.len(), ran.entries()), (0, u64::from(N)));
    assert!(ran.outcome.rounds[7] < 20 && ran.outcome.rounds[8] == ROUNDS);
}

#[test]
fn push_sum_needs_links_that_deliver() {
    let node = PushSum::<f64>::new(DIMENSION);
    let lossy = rough(Delivery::Datagram);
    let once: (fn(u32) -> Oracle<f64>, u64) = (of_vector, 1);
    let lost = run(node.clone(), topology(), once, Patience::Deadline, lossy).unwrap();
    assert!(lost.error() > 1e-3, "error {}", lost.error());
    assert_eq!((lost.outcome.stuck.len(), lost.entries()), (0, u64::from(N)));
    let reliable = rough(Delivery::Reliable);
    let kept = run(node, topology(), once, Patience::Forever, reliable).unwrap();
    assert!(kept.error() < 1e-12, "error {}", kept.error());
    assert_eq!(kept.outcome.rounds, vec![ROUNDS; N as usize]);
    assert!(kept.outcome.flow.retransmitted.messages > 0 && kept.n_rejoined > 5);
}

/// Whatever goes wrong, nothing panics, all finish, and every release is paid for once.
fn assert_survives<P, R>(node: P, topology: Topology, oracle: fn(u32) -> Oracle<R>, planned: u64)
where
    P: Synchronous<R> + Clone,
    R: Real,
{
    for (delivery, patience) in [
        (Delivery::Datagram, Patience::Deadline),
        (Delivery::Reliable, Patience::Deadline),
        (Delivery::Reliable, Patience::Forever),
    ] {
        let (node, topology) = (node.clone(), topology.clone());
        let ran = run(node, topology, (oracle, planned), patience, rough(delivery)).unwrap();
        assert_eq!(ran.outcome.stuck, []);
        assert_eq!(ran.entries(), ran.outcome.releases);
        assert!(ran.error().is_finite());
        let all = u64::from(N) * planned;
        match patience {
            // Whoever is away passes over its questions: less is spent, never more.
            Patience::Deadline => assert!((1..=all).contains(&ran.outcome.releases)),
            Patience::Forever => assert_eq!(ran.outcome.releases, all),
        }
    }
}

#[test]
fn gossip_survives() {
    assert_survives(Gossip::<f64>::new(DIMENSION), symmetric(), of_vector, 1);
}

#[test]
fn sparse_push_sum_survives() {
    let node = SparsePushSum::<f32>::new(DIMENSION, Sparsity::Exactly(1), 4);
    assert_survives(node, topology(), of_vector, 1);
}

#[test]
fn surplus_survives() {
    let node = Surplus::<f64>::new(DIMENSION, Sparsity::Half, 4, 2, 0.01);
    assert_survives(node, topology(), of_vector, 1);
}

#[test]
fn two_stages_survive() {
    let domain = Domain::Box { radius: 1.0 };
    let node = TwoStage::<f64>::new(DIMENSION, domain, STEPS, FIRST_STEP);
    assert_survives(node, topology(), of_steps, STEPS);
}

/// A ring of four nodes over links of 10 ms.
fn ring(rounds: u64, patience: Patience, change: impl Fn(&mut World)) -> Outcome {
    let machine = |i| Machine::new(PushSum::<f64>::new(DIMENSION), NodeId(i), rounds, patience);
    let mut world = World { deadline: Some(MS(100)), ..World::default() };
    world.links.link.latency = Latency::Constant { time: MS(10) };
    change(&mut world);
    let graph = Graph::from_edges(4, (0..4).map(|i| (i, (i + 1) % 4))).unwrap();
    let topology = Topology::new(Schedule::Fixed(graph));
    let (machines, oracles) = ((0..4).map(machine).collect(), (0..4).map(of_vector).collect());
    let mut events = Events::new(machines, oracles, Oracle::answer, topology, world).unwrap();
    let mut invariants = Invariants::new(&events, Account::of, 1);
    invariants.watch(&mut events).unwrap()
}

fn fault(at: u64, node: u32, kind: FaultKind) -> Fault {
    Fault { at: MS(at), node: NodeId(node), kind }
}

#[test]
fn time_is_latency_times_rounds() {
    let outcome = ring(7, Patience::Forever, |_| {});
    assert_eq!(outcome.virtual_time, MS(70));
    // One hearer each, 28 messages of four doubles and a header of 14 bytes.
    let sent = outcome.flow.sent;
    assert_eq!((sent.messages, sent.bytes), (28, 28 * (14 + 4 * 8)));
    // At 46 bytes in a millisecond, every round takes a millisecond more.
    let narrow = ring(7, Patience::Forever, |w| w.links.link.bandwidth = Some(46_000.0));
    assert_eq!(narrow.virtual_time, MS(77));
}

#[test]
fn partitions_heal() {
    let part =
        Partition { from: MS(25), until: MS(5000), groups: vec![vec![NodeId(0), NodeId(1)]] };
    let shut = |world: &mut World| world.faults.partitions = vec![part.clone()];
    let outcome = ring(7, Patience::Forever, shut);
    // Rounds 0 to 2 are sent before; round 3 is held back, and from then on all goes as before.
    assert_eq!((outcome.virtual_time, outcome.stuck.len()), (MS(5040), 0));
    assert_eq!(outcome.flow.lost.messages, 0);
    let datagrams = ring(7, Patience::Forever, |world| {
        shut(world);
        world.links.delivery = Delivery::Datagram;
    });
    // Nodes 0 and 2 hear across the parts; the others then wait for them.
    let waits = |node, round, missing| Stuck {
        node: NodeId(node),
        round,
        missing: vec![NodeId(missing)],
        is_down: false,
    };
    let stuck = [waits(0, 3, 3), waits(1, 4, 0), waits(2, 3, 1), waits(3, 4, 2)];
    assert_eq!(datagrams.stuck, stuck);
    assert_eq!(stuck[0].to_string(), "node 0 is stuck in round 3: it waits for 3");
}

#[test]
fn who_crashed_is_named_and_so_is_who_waits_for_it() {
    let crash = |world: &mut World| {
        world.faults.events = vec![fault(25, 2, FaultKind::Crash)];
        world.links.retry = Retry { timeout: MS(10), attempts: 4 };
    };
    let outcome = ring(9, Patience::Forever, crash);
    // Node 2 has sent round 2; its neighbour can end that and wait for the next.
    assert_eq!(outcome.stuck.len(), 4);
    assert!(outcome.stuck[2].is_down && outcome.stuck[2].round == 2);
    assert_eq!(outcome.stuck[3].missing, [NodeId(2)]);
    assert_eq!(
        outcome.stuck[2].to_string().split(':').next_back(),
        Some(" it crashed and did not rejoin")
    );
    // Node 1 got no acknowledgement of rounds 2 and of those it could still send.
    assert!(outcome.flow.abandoned.messages >= 1);
    assert_eq!(outcome.releases, 4);
    // With deadlines the others go on.
    let outcome = ring(9, Patience::Deadline, crash);
    assert_eq!(outcome.stuck.iter().map(|s| s.node).collect::<Vec<_>>(), [NodeId(2)]);
}

#[test]
fn who_rejoins_continues_and_who_leaves_does_not() {
    let back = |world: &mut World| {
        let events = [fault(25, 2, FaultKind::Crash), fault(600, 2, FaultKind::Rejoin)];
        world.faults.events = events.to_vec();
    };
    // Everybody waits for it: nothing is lost but time.
    let outcome = ring(9, Patience::Forever, back);
    assert_eq!((outcome.stuck.len(), &outcome.rounds[..]), (0, &[9; 4][..]));
    assert!(outcome.virtual_time > MS(600) && outcome.flow.lost.messages > 0);
    // Nobody waits: it finds the others further on.
    let outcome = ring(9, Patience::Deadline, back);
    assert_eq!(outcome.stuck, []);
    assert!(outcome.rounds[2] < 9, "{:?}", outcome.rounds);
    let outcome = ring(9, Patience::Deadline, |world| {
        let events = [fault(25, 2, FaultKind::Leave), fault(60, 2, FaultKind::Rejoin)];
        world.faults.events = events.to_vec();
    });
    assert_eq!((outcome.stuck.len(), outcome.rounds[2]), (0, 2));
    assert_eq!(outcome.rounds[0], 9);
}

#[test]
fn an_answer_survives_a_crash_and_is_not_asked_for_twice() {
    let outcome = ring(5, Patience::Forever, |world| {
        world.compute = undertone_sim::compute::Compute::Constant { time: MS(50) };
        let events = [fault(20, 1, FaultKind::Crash), fault(200, 1, FaultKind::Rejoin)];
        world.faults.events = events.to_vec();
    });
    assert_eq!((outcome.releases, outcome.stuck.len()), (4, 0));
    assert_eq!(outcome.rounds, [5; 4]);
}

#[test]
fn a_broken_invariant_is_named() {
    let machines = (0..N)
        .map(|i| Machine::new(PushSum::<f64>::new(DIMENSION), NodeId(i), ROUNDS, Patience::Forever))
        .collect();
    let oracles = (0..N).map(of_vector).collect();
    let mut events =
        Events::new(machines, oracles, Oracle::answer, topology(), World::default()).unwrap();
    // Nothing was planned, so the first release is one too many.
    let mut invariants = Invariants::new(&events, Account::of, 0);
    let Err(SimError::Violated(violation)) = invariants.watch(&mut events) else {
        panic!("a release without a plan has to be seen")
    };
    assert_eq!(violation.invariant, Invariant::Paid);
    assert!(violation.to_string().contains("ARCHITECTURE I2"), "{violation}");
    assert_eq!(TABLE.len(), 6);
}

#[test]
fn gossip_with_weights_that_keep_no_sum_is_found_out() {
    let node = Gossip::<f64>::new(DIMENSION);
    let world = World::default();
    // Rows of these weights sum to one, columns do not.
    let ran = run(node, topology(), (of_vector, 1), Patience::Forever, world);
    let Err(SimError::Violated(violation)) = ran else { panic!("the sum has changed") };
    assert_eq!(violation.invariant, Invariant::Conserved);
}

#[test]
fn what_does_not_fit_is_refused() {
    let machine = |i| Machine::new(PushSum::<f64>::new(DIMENSION), NodeId(i), 1, Patience::Forever);
    let make = |ids: &[u32], world| {
        let machines = ids.iter().map(|i| machine(*i)).collect();
        let oracles = (0..N).map(of_vector).collect();
        Events::new(machines, oracles, Oracle::answer, topology(), world).err()
    };
    let sizes = SimError::Sizes { machines: 2, oracles: 40, nodes: 40 };
    assert_eq!(make(&[0, 1], World::default()), Some(sizes));
    let mut ids: Vec<u32> = (0..N).collect();
    ids.swap(3, 4);
    let order = SimError::Order { place: 3, node: NodeId(4) };
    assert_eq!(make(&ids, World::default()), Some(order));
    ids.swap(3, 4);
    let mut world = World::default();
    world.links.link.loss = 2.0;
    assert!(matches!(make(&ids, world), Some(SimError::World(_))));
}
