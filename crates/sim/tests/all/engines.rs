//! Invariant I5 across engines: all nodes in step, on any number of threads, and nodes by virtual
//! time end in the same bits and send the same.

use undertone_graph::{Cycle, Family, NodeId, Schedule, Weights};
use undertone_model::dataset::{Features, Targets};
use undertone_model::{Dataset, Linear, Loss};
use undertone_node::{Noise, Oracle, OracleError, Private, PrivateGradients};
use undertone_privacy::ledger::{Budget, Filter, Header, Ledger};
use undertone_privacy::mechanism::Masked;
use undertone_privacy::noise::Key;
use undertone_privacy::release::Released;
use undertone_privacy::sampler::{PoissonSampler, Sampler};
use undertone_privacy::units::{Adjacency, ClipNorm, Delta, Epsilon, Probability, Scale, Unit};
use undertone_protocol::{
    Admm, Answer, Domain, Dsgd, Gossip, Lattice, Machine, Patience, Penalty, PrAdmm, PrivSgp,
    PushSum, QDpsgd, QDpsgd2, Question, RAdmm, RunningSum, Sdm, SparsePushSum, Sparsity, StepSize,
    Steps, Surplus, SurplusGradient, Synchronous, Topology, TwoStage, Wirings,
};
use undertone_real::Real;
use undertone_sim::events::{Events, Outcome};
use undertone_sim::lockstep::{Halt, Lockstep, Traffic, one_by_one};
use undertone_sim::{Time, World};

const N: u32 = 24;
const DIMENSION: usize = 5;
const ROUNDS: u64 = 12;

/// Data without privacy: this is about engines. Every third node has no budget.
fn oracles() -> Vec<Vec<f64>> {
    let vector = |i: u32| (0..DIMENSION).map(|k| (f64::from(i) + 0.1) / (k as f64 + 1.7)).collect();
    (0..N).map(|i| if i % 3 == 1 { Vec::new() } else { vector(i) }).collect()
}

fn answer<R: Real>(own: &mut Vec<f64>, asked: Question<R>) -> Result<Answer<R>, OracleError> {
    if own.is_empty() {
        return Ok(Answer::Refused);
    }
    let values = match asked {
        Question::Vector => own.iter().map(|v| R::from_f64(*v)).collect(),
        Question::Gradient { at, .. } | Question::Difference { at, .. } => {
            at.get().iter().zip(&*own).map(|(x, v)| *x - R::from_f64(*v)).collect()
        }
        Question::Masked { round, at } => {
            let sent = |k: &usize| (k + round as usize).is_multiple_of(3);
            let indices: Vec<usize> = (0..DIMENSION).filter(sent).collect();
            let values = indices.iter().map(|k| at.get()[*k] - R::from_f64(own[*k])).collect();
            let masked = Masked { dimension: DIMENSION, indices, values };
            return Ok(Answer::Masked(Released::public(masked)));
        }
        Question::Point { at, from, step, .. } => {
            let moved = from.get().iter().zip(at.get()).zip(&*own);
            moved.map(|((from, x), v)| *from - R::from_f64(step) * (*x - R::from_f64(*v))).collect()
        }
        Question::Primal { linear, quadratic, .. } => {
            let share = R::from_f64(1.0 / (1.0 + quadratic));
            linear.get().iter().zip(&*own).map(|(l, v)| share * (R::from_f64(*v) - *l)).collect()
        }
        Question::Step { at, step, .. } => {
            let moved = at.get().iter().zip(&*own);
            moved.map(|(x, v)| *x - R::from_f64(step) * (*x - R::from_f64(*v))).collect()
        }
    };
    Ok(Answer::Released(Released::public(values)))
}

fn topology(schedule: Schedule) -> Topology {
    Topology::new(schedule).with_pull(Weights::In, 0.0).with_push(Weights::Out)
}

fn fixed() -> Topology {
    let family = Family::OutRegular { nodes: N, degree: 5, connected: true };
    topology(Schedule::Fixed(family.build(3).unwrap()))
}

fn in_step<P, R>(nodes: Vec<P>, topology: &Topology, threads: usize) -> (Vec<P>, Traffic)
where
    P: Synchronous<R> + Clone + Send + Sync,
    R: Real,
{
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut engine = Lockstep::new(nodes);
        let mut oracles = oracles();
        let mut wirings = Wirings::new(topology.clone(), 2);
        while engine.round() < ROUNDS {
            engine.ask(&mut oracles, answer).unwrap();
            engine.advance(1, &mut wirings).unwrap();
        }
        (engine.nodes().to_vec(), engine.traffic())
    })
}

fn by_time<P, R>(nodes: Vec<P>, topology: &Topology, world: World) -> (Vec<P>, Outcome)
where
    P: Synchronous<R> + Clone,
    R: Real,
{
    let machine = |(i, node)| Machine::new(node, NodeId(i as u32), ROUNDS, Patience::Forever);
    let machines = nodes.into_iter().enumerate().map(machine).collect();
    let mut events = Events::new(machines, oracles(), answer, topology.clone(), world).unwrap();
    let outcome = events.run(&mut |_, _| {}).unwrap();
    (events.protocols().cloned().collect(), outcome)
}

fn bits<P: Synchronous<R>, R: Real>(nodes: &[P]) -> Vec<u64> {
    let mut estimate = vec![R::ZERO; DIMENSION];
    let mut bits = Vec::new();
    for node in nodes {
        node.estimate(&mut estimate);
        bits.extend(estimate.iter().map(|v| v.to_f64().to_bits()));
    }
    bits
}

/// Slow, lossy, doubling, reordering links and crashing nodes, but every message arrives in the
/// end: nobody can tell from the result.
fn rough() -> World {
    serde_json::from_str(
        r#"{
            "links": {
                "delivery": "reliable",
                "retry": {"timeout": 0.05, "attempts": 32},
                "link": {
                    "latency": {"model": "exponential", "low": 0.01, "mean": 0.02},
                    "bandwidth": 1e5, "loss": 0.3, "duplication": 0.1,
                    "reordering": {"probability": 0.2, "delay": 0.5}
                },
                "overrides": [{"from": 0, "to": 1, "link": {"loss": 0.8}}]
            },
            "compute": {"model": "straggler", "time": 0.01, "share": 0.2, "factor": 20},
            "faults": {
                "churn": {"share": 0.5, "mean-uptime": 1, "mean-downtime": 0.3, "until": 5},
                "partitions": [{"from": 0.3, "until": 1, "groups": [[0, 1, 2, 3]]}]
            },
            "seed": 11
        }"#,
    )
    .unwrap()
}

fn assert_engines_agree<P, R>(make: impl Fn(u32) -> P, topology: &Topology)
where
    P: Synchronous<R> + Clone + PartialEq + std::fmt::Debug + Send + Sync,
    R: Real,
{
    let nodes: Vec<P> = (0..N).map(make).collect();
    let (ended, traffic) = in_step(nodes.clone(), topology, 1);
    assert_ne!(bits(&ended), bits(&nodes), "something has to happen");
    for threads in [2, 7] {
        let (others, same) = in_step(nodes.clone(), topology, threads);
        assert_eq!((bits(&ended), traffic), (bits(&others), same));
    }
    let (ideal, outcome) = by_time(nodes.clone(), topology, World::default());
    assert_eq!(ended, ideal);
    assert_eq!(bits(&ended), bits(&ideal));
    assert_eq!((outcome.flow.sent, outcome.flow.delivered), (traffic, traffic));
    assert_eq!((outcome.virtual_time, &outcome.stuck[..]), (Time::ZERO, &[][..]));
    let (rough, outcome) = by_time(nodes, topology, rough());
    assert_eq!(bits(&ended), bits(&rough));
    assert_eq!((outcome.flow.sent, outcome.rounds), (traffic, vec![ROUNDS; N as usize]));
    let flow = outcome.flow;
    assert!(flow.lost.messages > 0 && flow.retransmitted.messages > 0);
    assert!(flow.duplicated.messages > 0 && flow.abandoned.messages == 0);
    assert!(outcome.virtual_time > Time::from_millis(1000));
}

/// Invariant I5 for one algorithm in both precisions.
macro_rules! i5 {
    ($name:ident, $make:expr, $topology:expr) => {
        #[test]
        fn $name() {
            let topology = $topology;
            assert_engines_agree::<_, f64>($make, &topology);
            assert_engines_agree::<_, f32>($make, &topology);
        }
    };
}

i5!(i5_push_sum, |_| PushSum::new(DIMENSION), topology(Schedule::Exponential { nodes: N }));
i5!(
    i5_sparse_push_sum,
    |_| SparsePushSum::new(DIMENSION, Sparsity::Exactly(2), 5),
    topology(Schedule::Exponential { nodes: N })
);
i5!(i5_gossip, |_| Gossip::new(DIMENSION), topology(Schedule::Matching { nodes: N, seed: 1 }));
i5!(i5_running_sum, |_| RunningSum::new(DIMENSION), fixed());
i5!(i5_surplus, |_| Surplus::new(DIMENSION, Sparsity::Half, 9, 3, 0.05), fixed());
i5!(
    i5_two_stage,
    |_| TwoStage::new(DIMENSION, Domain::Ball { radius: 20.0 }, 6, 0.9),
    topology(Schedule::Exponential { nodes: N })
);

fn ring() -> Topology {
    topology(Schedule::Fixed(Family::Ring { nodes: N }.build(1).unwrap()))
}

fn admm<R: Real>(node: u32) -> Admm<R> {
    let wiring = ring().wiring_at(0).unwrap();
    let heard = wiring.around(NodeId(node)).heard;
    Admm::new(&start::<R>(), heard, Penalty { first: 0.3, growth: 1.1 }, ROUNDS - 1)
}

i5!(i5_admm, admm, ring());
i5!(i5_pr_admm, |node| admm(node).ignoring(PrAdmm::new(2.0)), ring());
i5!(i5_r_admm, |node| admm(node).with_dual_step(0.2).recycling(RAdmm::new(0.5)), ring());

fn steps() -> Steps {
    Steps::new(8, StepSize::Decaying { first: 0.5, power: 0.5 }, 2.0).with_momentum(0.2)
}

fn lattice() -> Lattice {
    Lattice::new(0.125, 7).unwrap()
}

fn start<R: Real>() -> [R; DIMENSION] {
    [0.25, -0.5, 0.75, 1.0, 0.0].map(R::from_f64)
}

fn exponential() -> Topology {
    topology(Schedule::Exponential { nodes: N })
}

i5!(i5_dsgd, |_| Dsgd::new(&start(), steps()), exponential());
i5!(i5_priv_sgp, |_| PrivSgp::new(&start(), steps()), exponential());
i5!(i5_priv_sgp_vr, |_| PrivSgp::new(&start(), steps()).with_reduction(3), exponential());
i5!(
    i5_q_dpsgd,
    |_| QDpsgd::new(&start(), steps(), 0.5, lattice(), 4).with_batches([2.0, 0.0, 1.0].into()),
    exponential()
);
i5!(i5_q_dpsgd2, |_| QDpsgd2::new(&start(), steps(), 0.5, lattice(), 4), exponential());
i5!(i5_sdm, |_| Sdm::new(&start(), steps(), 0.6, 0.5, 4), fixed());
i5!(
    i5_surplus_gradient,
    |_| SurplusGradient::new(&start(), steps(), Sparsity::Half, 9, 3, 0.05),
    fixed()
);

/// An oracle with records, a sampler, noise and a ledger that pays for eight gradients: two less
/// than are asked for by those who ask ten times.
fn private(node: u32, kind: fn(PrivateGradients<f64>) -> PrivateGradients<f64>) -> Oracle<f64> {
    let value = |k: usize| ((node as usize * 97 + k) as f64).sin();
    let features = Features::Dense { width: DIMENSION, values: (0..100).map(value).collect() };
    let data = Dataset::new(features, Targets::Real((0..20).map(value).collect())).unwrap();
    let probability = Probability::new(0.4).unwrap();
    let sampler = Sampler::Poisson(PoissonSampler { probability });
    let noise = Noise::Gaussian(Scale::new(4.0).unwrap());
    let objective = std::sync::Arc::new(Linear::new(DIMENSION, false, Loss::Squared));
    let clip = ClipNorm::new(1.0).unwrap();
    let gradients = kind(PrivateGradients::new(objective, data, sampler, clip, noise));
    let header = Header {
        node,
        budget: Budget { epsilon: Epsilon::new(60.0).unwrap(), delta: Delta::new(1e-5).unwrap() },
        adjacency: Adjacency::AddRemove,
        unit: Unit::Record,
        filter: Filter::Planned { event: gradients.plan(8) },
    };
    let ledger = Ledger::open(header, Vec::new()).unwrap();
    Oracle::new(Private::Gradients(gradients), ledger, Key::from_seed(5))
}

/// Invariants I2, I4 and I5 with oracles that draw, clip, pay and add noise.
fn assert_private_engines_agree<P>(
    node: P,
    kind: fn(PrivateGradients<f64>) -> PrivateGradients<f64>,
    topology: &Topology,
) where
    P: Synchronous<f64> + Clone + PartialEq + std::fmt::Debug + Send + Sync,
{
    let oracles = || (0..N).map(|i| private(i, kind)).collect::<Vec<_>>();
    let (mut engine, mut asked) = (Lockstep::new(vec![node.clone(); N as usize]), oracles());
    let mut wirings = Wirings::new(topology.clone(), 2);
    while engine.round() < ROUNDS {
        engine.ask(&mut asked, |oracle, question| oracle.answer(question)).unwrap();
        engine.advance(1, &mut wirings).unwrap();
    }
    assert!(asked.iter().all(|oracle| oracle.ledger().len() == 8));
    // Asked several at a time.
    let (mut together, mut oracles_of_all) =
        (Lockstep::new(vec![node.clone(); N as usize]), oracles());
    let mut wirings = Wirings::new(topology.clone(), 2);
    together.advance_asking(ROUNDS, &mut wirings, &mut oracles_of_all, Oracle::answer_all).unwrap();
    assert_eq!(bits(engine.nodes()), bits(together.nodes()));
    for (one, other) in asked.iter().zip(&oracles_of_all) {
        assert_eq!(one.ledger(), other.ledger());
    }
    let machine = |i| Machine::new(node.clone(), NodeId(i), ROUNDS, Patience::Forever);
    let machines = (0..N).map(machine).collect();
    let mut events =
        Events::new(machines, oracles(), Oracle::answer, topology.clone(), rough()).unwrap();
    events.run(&mut |_, _| {}).unwrap();
    let by_time: Vec<P> = events.protocols().cloned().collect();
    assert_eq!(bits(engine.nodes()), bits(&by_time));
}

#[test]
fn i5_with_private_oracles() {
    let steps = Steps::new(10, StepSize::Constant(0.1), 8.0);
    let plain = |gradients| gradients;
    assert_private_engines_agree(Dsgd::new(&start(), steps), plain, &exponential());
    assert_private_engines_agree(PrivSgp::new(&start(), steps), plain, &exponential());
    let reduced = PrivSgp::new(&start(), steps).with_reduction(20);
    assert_private_engines_agree(reduced, |g| g.with_table().unwrap(), &exponential());
    let quantised = QDpsgd::new(&start(), steps, 0.5, lattice(), 4);
    assert_private_engines_agree(quantised, plain, &exponential());
    let masked = |g: PrivateGradients<f64>| g.masked(Probability::new(0.5).unwrap());
    assert_private_engines_agree(Sdm::new(&start(), steps, 0.6, 0.5, 4), masked, &fixed());
    let surplus = SurplusGradient::new(&start(), steps, Sparsity::Half, 9, 1, 0.05);
    assert_private_engines_agree(surplus, plain, &fixed());
}

#[test]
fn a_run_repeats_itself_and_another_seed_gives_another() {
    let nodes = || vec![PushSum::<f64>::new(DIMENSION); N as usize];
    let (_, first) = by_time(nodes(), &fixed(), rough());
    assert_eq!(by_time(nodes(), &fixed(), rough()).1, first);
    let other = World { seed: 12, ..rough() };
    assert_ne!(by_time(nodes(), &fixed(), other).1, first);
}

/// A cycle whose third graph has no weights of the kind that is asked for; the others do.
#[test]
fn a_round_without_a_graph_ends_a_run_there() {
    let ring = Family::Ring { nodes: N }.build(1).unwrap();
    let one_way = Family::OutRegular { nodes: N, degree: 2, connected: true }.build(1).unwrap();
    let cycle = Cycle::new(vec![ring.clone(), ring, one_way]).unwrap();
    let topology = Topology::new(Schedule::Cycle(cycle)).with_pull(Weights::Metropolis, 0.0);
    let mut engine = Lockstep::new(vec![PushSum::<f64>::new(DIMENSION); N as usize]);
    let error = engine.advance(9, &mut Wirings::new(topology.clone(), 1)).unwrap_err();
    assert!(error.to_string().starts_with("round 2:"), "{error}");
    assert_eq!(engine.round(), 2);
    let mut engine = Lockstep::new(vec![PrivSgp::<f64>::new(&start(), steps()); N as usize]);
    let halt = engine.advance_asking(
        9,
        &mut Wirings::new(topology, 1),
        &mut oracles(),
        one_by_one(answer),
    );
    assert!(matches!(halt, Err(Halt::Topology { round: 2, .. })), "{halt:?}");
}

#[test]
fn an_oracle_that_fails_is_named_with_its_round() {
    for fails in [0, 1, 5] {
        let answer = |own: &mut Vec<f64>, asked: Question<f64>| match asked {
            Question::Gradient { round, .. } if round == fails => Err(round),
            asked => Ok(answer(own, asked).unwrap()),
        };
        let mut engine = Lockstep::new(vec![PrivSgp::new(&start(), steps()); N as usize]);
        let mut wirings = Wirings::new(exponential(), 1);
        let halt = engine.advance_asking(8, &mut wirings, &mut oracles(), one_by_one(answer));
        assert_eq!(halt, Err(Halt::Oracle { round: fails, source: fails }));
    }
}
