//! States that are the mail: nothing is copied but what two nodes need at a time.
//!
//! A state is handed to whoever reads it. The last reader has it for itself: if that is its owner,
//! it goes on in the same memory. So nodes take turns along the edges of the graph, a hearer before
//! whom it hears: what was just heard, and is near, is then the next one's own state.

use std::sync::{Arc, Mutex};

use undertone_graph::NodeId;
use undertone_privacy::release::Released;
use undertone_protocol::{Letter, Neighbourhood, Shape, Synchronous, Wiring, send_state, wire};
use undertone_real::Real;

use super::Traffic;
use super::crew::{Phase, UNBROKEN, Work};
use super::opening::Opening;
use super::passes::Desk;

/// Whether states are so long that a row of mail for each costs more than handing them over.
pub(super) fn are_long<R>(shape: Shape) -> bool {
    const LONG: usize = 1 << 15;
    shape.width * size_of::<R>() >= LONG
}

type State<R> = Released<Vec<R>>;

/// Nodes, and two sets of states that were sent.
pub(super) struct States<'a, P, R: Real> {
    nodes: Vec<Mutex<&'a mut P>>,
    mail: [Vec<Mutex<Sent<R>>>; 2],
    /// Memory for states, which nobody needs at the moment.
    spare: Mutex<Vec<State<R>>>,
    opening: &'a dyn Opening<R>,
}

/// What a node has sent.
struct Sent<R> {
    state: Option<Arc<State<R>>>,
    /// How many will take it: those who hear it, and the node itself.
    readers: usize,
}

impl<'a, P, R> States<'a, P, R>
where
    P: Synchronous<R> + Send + Sync,
    R: Real,
{
    pub(super) fn new(nodes: &'a mut [P], opening: &'a dyn Opening<R>) -> Self {
        let nothing = |_: &P| Mutex::new(Sent { state: None, readers: 0 });
        Self {
            mail: [(); 2].map(|()| nodes.iter().map(nothing).collect()),
            nodes: nodes.iter_mut().map(Mutex::new).collect(),
            spare: Mutex::default(),
            opening,
        }
    }

    /// A node hears what was sent, does what comes first in the next round and sends.
    fn hear_and_send(
        &self,
        idx: usize,
        next: Option<usize>,
        phase: &Phase<'_>,
        desk: &mut Desk<R>,
    ) -> Traffic {
        let (arch, number) = (pulp::Arch::new(), NodeId(idx as u32));
        let node = &mut **self.nodes[idx].lock().expect(UNBROKEN);
        let mut answering = phase.sent.and_then(|_| self.opening.of_piece(idx));
        let ask = answering.is_some().then_some((phase.round, &mut *desk));
        match phase.heard {
            None => arch.dispatch(Hearing { node: &mut *node, heard: None, ask }),
            Some(wiring) => {
                self.put_back(node, phase.hears(), idx);
                let around = wiring.around(number);
                let states: Vec<_> =
                    around.heard.iter().map(|from| self.take(phase.hears(), from.idx())).collect();
                let heard = Some(Heard { round: phase.round - 1, around, states: &states });
                arch.dispatch(Hearing { node: &mut *node, heard, ask });
                let spare = states.into_iter().filter_map(Arc::into_inner);
                self.spare.lock().expect(UNBROKEN).extend(spare);
            }
        }
        if answering.as_mut().is_some_and(|answering| !answering(0, &mut desk.exchanges)) {
            phase.fail();
            return Traffic::default();
        }
        let Some(wiring) = phase.sent else { return Traffic::default() };
        let (around, round, shape) = (wiring.around(number), phase.round, node.shape());
        let first = next.zip(phase.heard).and_then(|(next, wiring)| {
            let from = wiring.around(NodeId(next as u32)).heard.first()?;
            self.mail[phase.hears()][from.idx()].lock().expect(UNBROKEN).state.clone()
        });
        // While this one makes noise, what the next will hear is on its way.
        let ahead = first.as_ref().map_or(&[][..], |state| state.get());
        let desk = answering.is_some().then_some(desk);
        let state = arch.dispatch(Sending { node, round, around, ahead, desk });
        let hearers = around.n_hearers;
        let bytes = hearers * wire::size(&Letter::of_state(&shape, &state));
        let sent = Sent { state: Some(Arc::new(state)), readers: hearers + 1 };
        *self.mail[phase.sends()][idx].lock().expect(UNBROKEN) = sent;
        Traffic { messages: hearers as u64, bytes: bytes as u64 }
    }

    /// What a node sent, for one of its readers.
    fn take(&self, turn: usize, from: usize) -> Arc<State<R>> {
        let mut sent = self.mail[turn][from].lock().expect(UNBROKEN);
        sent.readers -= 1;
        let state = if sent.readers == 0 { sent.state.take() } else { sent.state.clone() };
        state.expect("everybody sends, and is read as often as there are readers")
    }

    /// Gives a node its state back, or a copy if others still read it.
    fn put_back(&self, node: &mut P, turn: usize, idx: usize) {
        let own = self.take(turn, idx);
        let place = node.sent().expect("it was sent from there");
        *place = Arc::try_unwrap(own).unwrap_or_else(|own| {
            let spare = self.spare.lock().expect(UNBROKEN).pop();
            let mut copy = spare.unwrap_or_else(|| place.take());
            copy.update(|copy| copy.clone_from(own.get()));
            copy
        });
    }
}

impl<P, R> Work<R> for States<'_, P, R>
where
    P: Synchronous<R> + Send + Sync,
    R: Real,
{
    fn pieces(&self) -> usize {
        self.nodes.len()
    }

    fn advance(
        &self,
        phase: &Phase<'_>,
        pieces: &mut dyn Iterator<Item = usize>,
        desk: &mut Desk<R>,
    ) -> Traffic {
        let order = phase.heard.map_or_else(|| (0..self.nodes.len()).collect(), in_chains);
        let mut traffic = Traffic::default();
        for place in pieces {
            let next = order.get(place + 1).copied();
            let part = self.hear_and_send(order[place], next, phase, desk);
            traffic.messages += part.messages;
            traffic.bytes += part.bytes;
        }
        traffic
    }
}

/// All nodes, each before the first that it hears, where that is possible.
fn in_chains(wiring: &Wiring) -> Vec<usize> {
    let n = wiring.graph.n_nodes() as usize;
    let (mut order, mut is_in) = (Vec::with_capacity(n), vec![false; n]);
    for start in 0..n {
        let mut next = Some(start);
        while let Some(node) = next.filter(|node| !is_in[*node]) {
            is_in[node] = true;
            order.push(node);
            next = wiring.around(NodeId(node as u32)).heard.first().map(|from| from.idx());
        }
    }
    order
}

/// What a node heard in a round.
struct Heard<'a, R: Real> {
    round: u64,
    around: Neighbourhood<'a>,
    states: &'a [Arc<State<R>>],
}

/// A node hears states, if there are any yet, and asks.
struct Hearing<'a, P, R: Real> {
    node: &'a mut P,
    heard: Option<Heard<'a, R>>,
    ask: Option<(u64, &'a mut Desk<R>)>,
}

impl<P: Synchronous<R>, R: Real> pulp::NullaryFnOnce for Hearing<'_, P, R> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { node, heard, ask } = self;
        if let Some(Heard { round, around, states }) = heard {
            let shape = &node.shape();
            let letters = around.heard.iter().zip(states);
            let letters = letters.map(|(from, state)| (*from, Letter::of_state(shape, state)));
            node.receive(round, &around, letters);
        }
        if let Some((round, desk)) = ask {
            desk.open(1);
            desk.ask(0, node, round);
        }
    }
}

/// A node takes its answer, if it asked, and sends.
struct Sending<'a, P, R: Real> {
    node: &'a mut P,
    round: u64,
    around: Neighbourhood<'a>,
    ahead: &'a [R],
    desk: Option<&'a mut Desk<R>>,
}

impl<P: Synchronous<R>, R: Real> pulp::NullaryFnOnce for Sending<'_, P, R> {
    type Output = State<R>;

    #[inline(always)]
    fn call(self) -> State<R> {
        let Self { node, round, around, ahead, mut desk } = self;
        if let Some(desk) = &mut desk {
            desk.answer(0, node, round);
        }
        let state = send_state(node, round, &around, ahead);
        if let Some(desk) = desk {
            desk.tidy(node);
        }
        state
    }
}
