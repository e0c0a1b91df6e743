//! A(DP)2SGD among nodes that can do no more than send: a meeting by letters.

use std::collections::VecDeque;
use std::sync::Arc;

use undertone_graph::NodeId;
use undertone_privacy::release::Released;
use undertone_real::Real;

use crate::automaton::{Automaton, Timing};
use crate::machine::{Input, Output};
use crate::mail::{Message, Shape};
use crate::pairwise::PairwiseSgd;
use crate::question::Answer;
use crate::sparsify::PublicBits;

/// One node of [`PairwiseSgd`] as a machine that sends and hears, each at its own pace.
///
/// Nobody is locked and nothing is changed at two places at once. When its gradient has come, a
/// node *offers* its point to a random neighbour. That one moves half of the way towards the offer
/// at once, and *replies* with that change; the node then moves by as much in the other direction,
/// and takes its step. If nothing came between offer and reply, both are at the mean, as after
/// [`PairwiseSgd::meet`]. If others moved the node meanwhile, the change is stale; the sum of all
/// points is the same in both cases, as long as every message arrives once.
///
/// # Guarantee
///
/// That of [`PairwiseSgd`]: offers and replies are functions of released values.
///
/// # References
///
/// As [`PairwiseSgd`]; theory 7.4.
#[derive(Debug)]
pub struct Encounters<R: Real> {
    algorithm: PairwiseSgd<R>,
    node: NodeId,
    /// Whom it may meet, and how many nodes there are.
    neighbours: Vec<NodeId>,
    n_nodes: u32,
    seed: u64,
    activation: u64,
    /// Messages so far.
    sent: u64,
    phase: Phase<R>,
    outputs: VecDeque<(Output<R>, Option<NodeId>)>,
    /// For whom the last output is.
    addressee: Option<NodeId>,
    malformed: u64,
}

#[derive(Debug)]
enum Phase<R: Real> {
    Asking,
    /// The offer is out; the gradient is used when the reply has come.
    Meeting(NodeId, Answer<R>),
    Finished,
}

/// The last number of a message says which it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Offer,
    Reply,
}

impl Kind {
    fn number<R: Real>(self) -> R {
        match self {
            Self::Offer => R::ZERO,
            Self::Reply => R::ONE,
        }
    }

    fn of<R: Real>(number: R) -> Option<Self> {
        [Self::Offer, Self::Reply].into_iter().find(|kind| kind.number::<R>() == number)
    }
}

impl<R: Real> Encounters<R> {
    /// A node that meets those neighbours, by public luck, among so many nodes.
    pub fn new(
        algorithm: PairwiseSgd<R>,
        node: NodeId,
        neighbours: Vec<NodeId>,
        n_nodes: u32,
        seed: u64,
    ) -> Self {
        let mut machine = Self {
            algorithm,
            node,
            neighbours,
            n_nodes,
            seed,
            activation: 0,
            sent: 0,
            phase: Phase::Asking,
            outputs: VecDeque::new(),
            addressee: None,
            malformed: 0,
        };
        machine.begin();
        machine
    }

    fn begin(&mut self) {
        let round = self.activation;
        let output = match self.algorithm.ask(round) {
            Some(question) => {
                self.phase = Phase::Asking;
                Output::Ask { round, question }
            }
            None => {
                self.phase = Phase::Finished;
                Output::Finished
            }
        };
        self.outputs.push_back((output, None));
    }

    fn answered(&mut self, answer: Answer<R>) {
        let n_neighbours = self.neighbours.len() as u64;
        if n_neighbours == 0 {
            return self.step(answer);
        }
        let mut bits = PublicBits::new(self.seed, self.node, self.activation, 0);
        let other = self.neighbours[bits.below(n_neighbours) as usize];
        self.phase = Phase::Meeting(other, answer);
        self.send(other, Kind::Offer, self.algorithm.point());
    }

    fn step(&mut self, answer: Answer<R>) {
        let round = self.activation;
        self.algorithm.step(round, answer);
        self.activation += 1;
        self.outputs.push_back((Output::RoundDone { round }, None));
        self.begin();
    }

    fn send(&mut self, to: NodeId, kind: Kind, values: Released<Vec<R>>) {
        let values = values.map(|mut values| {
            values.push(kind.number());
            values
        });
        let message = Message::dense(self.sent, self.shape(), values);
        self.sent += 1;
        self.outputs.push_back((Output::Send { message: Arc::new(message) }, Some(to)));
    }

    /// Whether it made sense.
    fn take(&mut self, from: NodeId, message: &Message<R>) -> bool {
        let letter = message.letter();
        if message.shape() != self.shape() || letter.is_silent() || !letter.is_sound() {
            return false;
        }
        let Some((kind, values)) = letter.values().split_last() else { return false };
        match Kind::of(*kind) {
            Some(Kind::Offer) if self.neighbours.binary_search(&from).is_ok() => {
                let change = self.algorithm.approach(values);
                self.send(from, Kind::Reply, change);
                true
            }
            Some(Kind::Reply) => match std::mem::replace(&mut self.phase, Phase::Asking) {
                Phase::Meeting(other, answer) if other == from => {
                    self.algorithm.retreat(values);
                    self.step(answer);
                    true
                }
                phase => {
                    self.phase = phase;
                    false
                }
            },
            _ => false,
        }
    }
}

impl<R: Real> Automaton<R> for Encounters<R> {
    fn reacts(&self) -> bool {
        true
    }

    fn handle(&mut self, input: Input<R>) {
        match input {
            Input::Answer { round, answer } => {
                if round == self.activation && matches!(self.phase, Phase::Asking) {
                    self.answered(answer);
                }
            }
            Input::Message { from, message } => {
                if !self.take(from, &message) {
                    self.malformed += 1;
                }
            }
            Input::Wiring { .. } | Input::Deadline { .. } | Input::Rejoin { .. } => {}
        }
    }

    fn poll(&mut self) -> Option<Output<R>> {
        let (output, addressee) = self.outputs.pop_front()?;
        self.addressee = addressee;
        Some(output)
    }

    fn addressee(&self) -> Option<NodeId> {
        self.addressee
    }

    fn node(&self) -> NodeId {
        self.node
    }

    fn round(&self) -> u64 {
        self.activation
    }

    fn is_finished(&self) -> bool {
        matches!(self.phase, Phase::Finished)
    }

    fn needs_delivery(&self) -> bool {
        true
    }

    fn timing(&self, _number: u64, _ahead: u64) -> Timing {
        Timing::Due
    }

    /// An offer for each activation, and a reply to each offer of all others.
    fn numbers(&self) -> u64 {
        self.algorithm.activations().saturating_mul(self.n_nodes.into())
    }

    fn missing(&self) -> Vec<NodeId> {
        match self.phase {
            Phase::Meeting(other, _) => vec![other],
            Phase::Asking | Phase::Finished => Vec::new(),
        }
    }

    fn malformed(&self) -> u64 {
        self.malformed
    }

    fn shape(&self) -> Shape {
        Shape::dense(self.algorithm.dimension() + 1)
    }

    fn dimension(&self) -> usize {
        self.algorithm.dimension()
    }

    fn estimate(&self, out: &mut [R]) {
        self.algorithm.estimate(out);
    }

    fn checkpoint(&mut self) -> Option<Vec<u8>> {
        None
    }

    fn resume(&mut self, _checkpoint: &[u8]) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::{StepSize, Steps};

    const ACTIVATIONS: u64 = 30;

    fn town(step: f64) -> Vec<Encounters<f64>> {
        let node = |k: u32| {
            let steps = Steps::new(ACTIVATIONS, StepSize::Constant(step), 1.0);
            let point = [f64::from(k), 1.0 - 2.0 * f64::from(k)];
            let others = (0..4).filter(|other| *other != k).map(NodeId).collect();
            Encounters::new(PairwiseSgd::new(&point, steps), NodeId(k), others, 4, 9)
        };
        (0..4).map(node).collect()
    }

    /// Carries messages in an order by luck, each direction of a pair in its own order. Every node
    /// gets the gradient `(1, 0)`.
    fn run(town: &mut [Encounters<f64>], luck: u64) -> u64 {
        let mut lines: Vec<VecDeque<Arc<Message<f64>>>> = vec![VecDeque::new(); 16];
        let mut bits = PublicBits::new(luck, NodeId(0), 0, 1);
        let mut sent = 0;
        loop {
            for k in 0..4 {
                while let Some(output) = town[k].poll() {
                    match output {
                        Output::Ask { round, .. } => {
                            let answer = Answer::Released(Released::public(vec![1.0, 0.0]));
                            town[k].handle(Input::Answer { round, answer });
                        }
                        Output::Send { message } => {
                            let to = town[k].addressee().expect("it is for somebody");
                            assert!(message.round() < town[k].numbers());
                            lines[4 * k + to.idx()].push_back(message);
                            sent += 1;
                        }
                        _ => {}
                    }
                }
            }
            let full: Vec<usize> = (0..16).filter(|line| !lines[*line].is_empty()).collect();
            if full.is_empty() {
                return sent;
            }
            let line = full[bits.below(full.len() as u64) as usize];
            let message = lines[line].pop_front().expect("it is not empty");
            town[line % 4].handle(Input::Message { from: NodeId((line / 4) as u32), message });
        }
    }

    fn sums(town: &[Encounters<f64>]) -> [f64; 2] {
        let mut sums = [0.0; 2];
        for node in town {
            let mut point = [0.0; 2];
            node.estimate(&mut point);
            sums.iter_mut().zip(point).for_each(|(sum, v)| *sum += v);
        }
        sums
    }

    #[test]
    fn every_order_ends_keeps_the_sum_and_agrees() {
        for luck in 0..20 {
            let mut nodes = town(0.0);
            let before = sums(&nodes);
            let sent = run(&mut nodes, luck);
            assert_eq!(sent, 2 * 4 * ACTIVATIONS);
            let after = sums(&nodes);
            for node in &nodes {
                assert!(node.is_finished() && node.malformed() == 0);
                let mut point = [0.0; 2];
                node.estimate(&mut point);
                for k in 0..2 {
                    assert!((after[k] - before[k]).abs() < 1e-12);
                    assert!((point[k] - before[k] / 4.0).abs() < 1e-3, "{point:?}");
                }
            }
        }
    }

    /// Meetings move nothing in the sum, so it falls by one step for each activation.
    #[test]
    fn every_activation_takes_one_step() {
        let mut nodes = town(0.01);
        let before = sums(&nodes);
        run(&mut nodes, 3);
        let after = sums(&nodes);
        assert!((before[0] - after[0] - 0.01 * (4 * ACTIVATIONS) as f64).abs() < 1e-10);
        assert!((before[1] - after[1]).abs() < 1e-10);
    }

    /// With nothing in between, an offer and its reply are a meeting.
    #[test]
    fn offer_and_reply_are_a_meeting() {
        let steps = Steps::new(1, StepSize::Constant(0.0), 1.0);
        let (mut a, mut b) =
            (PairwiseSgd::new(&[3.0, 1.0], steps), PairwiseSgd::new(&[1.0, 0.0], steps));
        let (mut c, mut d) = (a.clone(), b.clone());
        let change = b.approach(a.point().get());
        a.retreat(change.get());
        c.meet(&mut d);
        assert_eq!((a.point(), b.point()), (c.point(), d.point()));
    }

    #[test]
    fn what_answers_nothing_is_refused_and_changes_nothing() {
        let mut nodes = town(0.0);
        let before = sums(&nodes);
        let say = |last: f64, width: usize| {
            let mut values = vec![0.5; width];
            values[width - 1] = last;
            let message = Message::dense(0, Shape::dense(width), Released::public(values));
            Input::Message { from: NodeId(1), message: Arc::new(message) }
        };
        for input in [say(1.0, 3), say(0.5, 3), say(f64::NAN, 3), say(0.0, 4)] {
            nodes[0].handle(input);
        }
        assert_eq!(nodes[0].malformed(), 4);
        assert_eq!(sums(&nodes), before);
    }
}
