//! Laws that every algorithm keeps, in both precisions: what is answered and heard decides the
//! result to the last bit (invariant I5), not when it comes nor what else comes.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use undertone_graph::{Family, NodeId, Schedule, Weights};
use undertone_privacy::mechanism::Masked;
use undertone_privacy::release::Released;
use undertone_protocol::{
    Admm, Answer, Carried, Domain, Drops, Dsgd, Gossip, Input, Lattice, Machine, Mail, Message,
    Output, Patience, Penalty, PrAdmm, PrivSgp, PushSum, QDpsgd, QDpsgd2, Question, RAdmm,
    RunningSum, Sdm, Shape, SparsePushSum, Sparsity, StepSize, Steps, Surplus, SurplusGradient,
    Synchronous, Topology, TwoStage,
};
use undertone_real::Real;

const N: u32 = 7;
const DIMENSION: usize = 3;
const ROUNDS: u64 = 5;

fn topology() -> Topology {
    let family = Family::OutRegular { nodes: N, degree: 3, connected: true };
    let schedule = Schedule::Fixed(family.build(4).unwrap());
    Topology::new(schedule).with_pull(Weights::In, 0.0).with_push(Weights::Out)
}

/// The nodes in `refused`, a set of bits, have no budget.
fn answer<R: Real>(node: usize, question: &Question<R>, refused: u32) -> Answer<R> {
    if refused >> node & 1 == 1 {
        return Answer::Refused;
    }
    let own = |k: usize| R::from_f64(((node * 5 + k) as f64).sin());
    let values = match question {
        Question::Vector => (0..DIMENSION).map(own).collect(),
        Question::Gradient { at, .. } | Question::Difference { at, .. } => {
            at.get().iter().enumerate().map(|(k, x)| *x - own(k)).collect()
        }
        Question::Masked { round, at } => {
            let indices: Vec<usize> =
                (0..DIMENSION).filter(|k| (k + *round as usize + node).is_multiple_of(2)).collect();
            let values = indices.iter().map(|k| at.get()[*k] - own(*k)).collect();
            let masked = Masked { dimension: DIMENSION, indices, values };
            return Answer::Masked(Released::public(masked));
        }
        Question::Point { at, from, step, .. } => {
            let step = R::from_f64(*step);
            let moved = from.get().iter().zip(at.get()).enumerate();
            moved.map(|(k, (from, at))| *from - step * (*at - own(k))).collect()
        }
        Question::Primal { linear, quadratic, .. } => {
            let share = R::from_f64(1.0 / (1.0 + quadratic));
            linear.get().iter().enumerate().map(|(k, l)| share * (own(k) - *l)).collect()
        }
        Question::Step { at, step, .. } => {
            let step = R::from_f64(*step);
            at.get().iter().enumerate().map(|(k, x)| *x - step * (*x - own(k))).collect()
        }
    };
    Answer::Released(Released::public(values))
}

/// Round by round, without machines.
fn direct<P: Synchronous<R> + Clone, R: Real>(node: &P, refused: u32) -> Vec<P> {
    with_breaks(node, refused, |_| {})
}

/// The same, with something that happens to all nodes before every round.
fn with_breaks<P, R>(node: &P, refused: u32, pause: impl Fn(&mut P)) -> Vec<P>
where
    P: Synchronous<R> + Clone,
    R: Real,
{
    let mut nodes = vec![node.clone(); N as usize];
    let mut mail = Mail::new(nodes.len(), node.shape());
    for round in 0..ROUNDS {
        nodes.iter_mut().for_each(&pause);
        let wiring = topology().wiring_at(round).unwrap();
        for (i, node) in nodes.iter_mut().enumerate() {
            if let Some(question) = node.ask(round) {
                node.answer(round, answer(i, &question, refused));
            }
            let id = NodeId(i as u32);
            node.send(round, &wiring.around(id), &mut mail.slot(id));
        }
        for (i, node) in nodes.iter_mut().enumerate() {
            let around = wiring.around(NodeId(i as u32));
            node.receive(round, &around, mail.heard_by(&around));
        }
    }
    nodes
}

/// A small generator of our own (SplitMix64), from a seed that the property draws.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

/// What came beside the messages of the protocol.
#[derive(Default)]
struct Junk {
    early: u64,
    malformed: u64,
    /// Doubled, or late by the time they come, or from somebody who is not heard.
    others: u64,
}

struct Network<P, R: Real> {
    machines: Vec<Machine<P, R>>,
    /// What has not happened yet, to be drawn in any order.
    pending: Vec<(usize, Input<R>)>,
    /// Messages that have arrived once.
    old: Vec<(usize, Input<R>)>,
    topology: Topology,
    refused: u32,
    finished: BTreeSet<usize>,
}

impl<P: Synchronous<R> + Clone, R: Real> Network<P, R> {
    fn new(node: &P, refused: u32) -> Self {
        let machine = |i| Machine::new(node.clone(), NodeId(i), ROUNDS, Patience::Forever);
        let machines = (0..N).map(machine).collect();
        let (pending, old, topology) = (Vec::new(), Vec::new(), topology());
        let mut network =
            Self { machines, pending, old, topology, refused, finished: BTreeSet::new() };
        (0..N as usize).for_each(|i| network.drain(i));
        network
    }

    /// Turns what a machine wants into what will happen.
    fn drain(&mut self, i: usize) {
        while let Some(output) = self.machines[i].poll() {
            match output {
                Output::Begin { round } => {
                    let wiring = Arc::new(self.topology.wiring_at(round).unwrap());
                    self.pending.push((i, Input::Wiring { round, wiring }));
                }
                Output::Ask { round, question } => {
                    let answer = answer(i, &question, self.refused);
                    self.pending.push((i, Input::Answer { round, answer }));
                }
                Output::Send { message } => {
                    let wiring = self.topology.wiring_at(message.round()).unwrap();
                    let from = NodeId(i as u32);
                    for to in wiring.hearers(from) {
                        let message = Arc::clone(&message);
                        self.pending.push((to.idx(), Input::Message { from, message }));
                    }
                }
                Output::Wait { .. } | Output::RoundDone { .. } => {}
                Output::Finished => assert!(self.finished.insert(i), "{i} finished twice"),
            }
        }
    }

    /// Lets any one of the pending things happen.
    fn step(&mut self, dice: &mut Dice) -> bool {
        if self.pending.is_empty() {
            return false;
        }
        let drawn = dice.below(self.pending.len());
        let (i, input) = self.pending.swap_remove(drawn);
        if matches!(input, Input::Message { .. }) {
            self.old.push((i, input.clone()));
        }
        self.machines[i].handle(input);
        self.drain(i);
        true
    }

    /// Something comes that should not.
    fn disturb(&mut self, dice: &mut Dice, junk: &mut Junk) {
        let i = dice.below(self.machines.len());
        let machine = &mut self.machines[i];
        let (round, shape) = (machine.round(), machine.protocol().shape());
        let message = |round, shape: Shape, value: f64| {
            let values = vec![R::from_f64(value); shape.width];
            let write = |slot: &mut undertone_protocol::Slot<'_, R>| match shape.mask_bits {
                0 => slot.send(&Released::public(values)),
                bits => {
                    let mask = Sparsity::Full.mask(bits, 0, NodeId(0), 0, 0);
                    slot.send_masked(&Released::public(values), mask.words());
                }
            };
            Arc::new(Message::write(round, shape, write))
        };
        let from = NodeId(dice.below(N as usize) as u32);
        let itself = NodeId(i as u32);
        let over = machine.is_finished();
        let (which, input) = match dice.below(6) {
            0 => (&mut junk.early, (from, message(ROUNDS, shape, 1.0))),
            1 => (&mut junk.malformed, (from, message(round, shape, f64::NAN))),
            2 => (&mut junk.malformed, (from, message(round, Shape::dense(1), 1.0))),
            // Nobody hears itself, nor a node that does not exist.
            3 => (&mut junk.others, (itself, message(round, shape, 1.0))),
            4 => (&mut junk.others, (NodeId(N + 9), message(round, shape, 1.0))),
            _ => {
                let Some((to, input)) = self.old.get(dice.below(self.old.len().max(1))) else {
                    return;
                };
                junk.others += 1;
                self.machines[*to].handle(input.clone());
                let to = *to;
                self.drain(to);
                return;
            }
        };
        // For a node that has finished, everything comes late.
        *(if over { &mut junk.others } else { which }) += 1;
        machine.handle(Input::Message { from: input.0, message: input.1 });
        self.drain(i);
    }

    fn nodes(&self) -> Vec<P> {
        self.machines.iter().map(|machine| machine.protocol().clone()).collect()
    }

    fn drops(&self) -> Vec<Drops> {
        self.machines.iter().map(Machine::drops).collect()
    }
}

fn bits<P: Synchronous<R>, R: Real>(nodes: &[P]) -> Vec<u64> {
    let (mut estimate, mut bits) = (vec![R::ZERO; DIMENSION], Vec::new());
    for node in nodes {
        node.estimate(&mut estimate);
        bits.extend(estimate.iter().map(|v| v.to_f64().to_bits()));
        let mut conserved = vec![0.0; node.shape().width];
        node.add_conserved(&mut conserved);
        bits.extend(conserved.iter().map(|v| v.to_bits()));
    }
    bits
}

fn assert_any_order_ends_in_the_same_bits<P, R>(node: &P, seed: u64, refused: u32)
where
    P: Synchronous<R> + Clone + PartialEq + std::fmt::Debug,
    R: Real,
{
    let mut network = Network::new(node, refused);
    let mut dice = Dice(seed);
    while network.step(&mut dice) {}
    // Also those without budget finish, and nobody waits for them in vain.
    assert_eq!(network.finished.len(), N as usize);
    let expected = direct(node, refused);
    assert_eq!(network.nodes(), expected);
    assert_eq!(bits(&network.nodes()), bits(&expected));
    assert_eq!(network.drops(), vec![Drops::default(); N as usize]);
    assert!(network.machines.iter().all(|machine| machine.kept() == 0));
}

fn assert_junk_is_counted_and_changes_nothing<P, R>(node: &P, seed: u64, refused: u32)
where
    P: Synchronous<R> + Clone + PartialEq + std::fmt::Debug,
    R: Real,
{
    let (mut network, mut junk) = (Network::new(node, refused), Junk::default());
    let mut dice = Dice(seed);
    loop {
        if dice.below(3) == 0 {
            network.disturb(&mut dice, &mut junk);
        }
        if !network.step(&mut dice) {
            break;
        }
    }
    assert_eq!(network.finished.len(), N as usize);
    assert_eq!(bits(&network.nodes()), bits(&direct(node, refused)));
    let mut sum = Junk::default();
    for Drops { late, doubled, malformed, unheard, early } in network.drops() {
        sum.early += early;
        sum.malformed += malformed;
        sum.others += late + doubled + unheard;
    }
    assert_eq!((sum.early, sum.malformed, sum.others), (junk.early, junk.malformed, junk.others));
    assert!(junk.early + junk.malformed + junk.others > 5, "some junk has to come");
}

fn assert_what_is_carried_suffices<P, R>(node: &P, refused: u32)
where
    P: Synchronous<R> + Clone,
    R: Real,
{
    let put_back = |old: &mut P| {
        let mut bytes = Vec::new();
        old.carry(&mut Carried::write(&mut bytes));
        let mut carried = Carried::read(&bytes);
        *old = node.clone();
        old.carry(&mut carried);
        assert!(carried.is_whole());
        for cut in 0..bytes.len() {
            let mut carried = Carried::read(&bytes[..cut]);
            node.clone().carry(&mut carried);
            assert!(!carried.is_whole(), "cut to {cut} of {}", bytes.len());
        }
    };
    assert_eq!(bits(&with_breaks(node, refused, put_back)), bits(&direct(node, refused)));
}

macro_rules! laws {
    ($name:ident, $real:ident, $node:expr) => {
        mod $name {
            use super::*;
            type R = $real;

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(24))]

                #[test]
                fn any_order_ends_in_the_same_bits(seed: u64, refused in 0_u32..1 << N) {
                    assert_any_order_ends_in_the_same_bits::<_, R>(&$node, seed, refused);
                }

                #[test]
                fn what_is_carried_suffices(refused in 0_u32..1 << N) {
                    assert_what_is_carried_suffices::<_, R>(&$node, refused);
                }

                #[test]
                fn junk_is_counted_and_changes_nothing(seed: u64, refused in 0_u32..1 << N) {
                    assert_junk_is_counted_and_changes_nothing::<_, R>(&$node, seed, refused);
                }
            }
        }
    };
}

fn steps() -> Steps {
    Steps::new(3, StepSize::Decaying { first: 0.5, power: 0.5 }, 2.0).with_momentum(0.3)
}

fn lattice() -> Lattice {
    Lattice::new(0.125, 6).unwrap()
}

fn start<R: Real>() -> [R; DIMENSION] {
    [0.25, -0.5, 0.75].map(R::from_f64)
}

const HALF: Sparsity = Sparsity::Half;
const BALL: Domain = Domain::Ball { radius: 0.8 };

laws!(push_sum_f64, f64, PushSum::new(DIMENSION));
laws!(push_sum_f32, f32, PushSum::new(DIMENSION));
laws!(sparse_push_sum_f64, f64, SparsePushSum::new(DIMENSION, HALF, 3));
laws!(sparse_push_sum_f32, f32, SparsePushSum::new(DIMENSION, HALF, 3));
laws!(gossip_f64, f64, Gossip::new(DIMENSION));
laws!(gossip_f32, f32, Gossip::new(DIMENSION));
laws!(running_sum_f64, f64, RunningSum::new(DIMENSION));
laws!(running_sum_f32, f32, RunningSum::new(DIMENSION));
laws!(surplus_f64, f64, Surplus::new(DIMENSION, HALF, 3, 2, 0.1));
laws!(surplus_f32, f32, Surplus::new(DIMENSION, HALF, 3, 2, 0.1));
laws!(dsgd_f64, f64, Dsgd::new(&start(), steps()));
laws!(dsgd_f32, f32, Dsgd::new(&start(), steps()));
laws!(priv_sgp_f64, f64, PrivSgp::new(&start(), steps()));
laws!(priv_sgp_f32, f32, PrivSgp::new(&start(), steps()));
laws!(priv_sgp_vr_f64, f64, PrivSgp::new(&start(), steps()).with_reduction(4));
laws!(priv_sgp_vr_f32, f32, PrivSgp::new(&start(), steps()).with_reduction(4));
laws!(
    q_dpsgd_f64,
    f64,
    QDpsgd::new(&start(), steps(), 0.5, lattice(), 7).with_batches([2.0, 0.0].into())
);
laws!(
    q_dpsgd_f32,
    f32,
    QDpsgd::new(&start(), steps(), 0.5, lattice(), 7).with_batches([2.0, 0.0].into())
);
laws!(q_dpsgd2_f64, f64, QDpsgd2::new(&start(), steps(), 0.5, lattice(), 7));
laws!(q_dpsgd2_f32, f32, QDpsgd2::new(&start(), steps(), 0.5, lattice(), 7));
laws!(q_dpsgd2_printed, f64, QDpsgd2::new(&start(), steps(), 0.5, lattice(), 7).printed());
laws!(sdm_f64, f64, Sdm::new(&start(), steps(), 0.6, 0.5, 7));
laws!(sdm_f32, f32, Sdm::new(&start(), steps(), 0.6, 0.5, 7));
laws!(surplus_gradient_f64, f64, SurplusGradient::new(&start(), steps(), HALF, 3, 2, 0.1));
laws!(surplus_gradient_f32, f32, SurplusGradient::new(&start(), steps(), HALF, 3, 2, 0.1));
laws!(two_stage_f64, f64, TwoStage::new(DIMENSION, BALL, 3, 0.7));
laws!(two_stage_f32, f32, TwoStage::new(DIMENSION, BALL, 3, 0.7));

#[test]
fn those_without_budget_learn_the_mean_of_the_others() {
    let refused = 0b010_0110_u32;
    let mut means = vec![0.0; DIMENSION];
    for i in (0..N as usize).filter(|i| refused >> i & 1 == 0) {
        let Answer::Released(own) = answer::<f64>(i, &Question::Vector, refused) else { panic!() };
        let n_answered = f64::from(N - refused.count_ones());
        means.iter_mut().zip(own.get()).for_each(|(mean, v)| *mean += v / n_answered);
    }
    // Five rounds do not suffice for that; a complete graph needs one.
    let graph = Family::Complete { nodes: N }.build(0).unwrap();
    let mut network = Network::new(&PushSum::<f64>::new(DIMENSION), refused);
    network.topology = Topology::new(Schedule::Fixed(graph.clone()));
    network.pending.clear();
    let wiring = Arc::new(network.topology.wiring_at(0).unwrap());
    for i in 0..N as usize {
        let wiring = Arc::clone(&wiring);
        network.pending.push((i, Input::Wiring { round: 0, wiring }));
    }
    let mut dice = Dice(1);
    while network.step(&mut dice) {}
    let mut estimate = vec![0.0; DIMENSION];
    for node in network.nodes() {
        node.estimate(&mut estimate);
        assert!(estimate.iter().zip(&means).all(|(a, b)| (a - b).abs() < 1e-14));
    }
}

/// ADMM wants a fixed undirected graph, so it is apart.
#[test]
fn admm_carries_all_that_it_has() {
    let graph = Family::Complete { nodes: 3 }.build(0).unwrap();
    let wiring = Topology::new(Schedule::Fixed(graph)).wiring_at(0).unwrap();
    let penalty = Penalty { first: 0.5, growth: 1.1 };
    let plain = |i: u32| {
        let others: Vec<NodeId> = (0..3).filter(|j| *j != i).map(NodeId).collect();
        Admm::<f64>::new(&start(), &others, penalty, 4)
    };
    for variant in 0..3 {
        let new = |i: u32| match variant {
            0 => plain(i),
            1 => plain(i).ignoring(PrAdmm::new(0.3)),
            _ => plain(i).recycling(RAdmm::new(0.1)),
        };
        let mut nodes: Vec<_> = (0..3).map(new).collect();
        let mut mail = Mail::new(3, nodes[0].shape());
        for round in 0..4 {
            for (id, node) in (0..).map(NodeId).zip(&mut nodes) {
                if let Some(question) = node.ask(round) {
                    node.answer(round, answer(id.idx(), &question, 0));
                }
                node.send(round, &wiring.around(id), &mut mail.slot(id));
            }
            for (id, node) in (0..).map(NodeId).zip(&mut nodes) {
                let around = wiring.around(id);
                node.receive(round, &around, mail.heard_by(&around));
                let (mut bytes, mut back) = (Vec::new(), new(id.0));
                node.carry(&mut Carried::write(&mut bytes));
                let mut carried = Carried::read(&bytes);
                back.carry(&mut carried);
                assert!(carried.is_whole());
                assert_eq!(back, *node);
            }
        }
    }
}
