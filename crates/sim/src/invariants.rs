//! What must hold after every event, whatever goes wrong.

use std::fmt;

use undertone_graph::NodeId;
use undertone_node::Oracle;
use undertone_protocol::{LOOKAHEAD, LinkNeeds, Machine, Patience, Synchronous, Wirings};
use undertone_real::Real;

use crate::events::{Events, Happening, Outcome, SimError};
use crate::time::Time;

/// Something that must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invariant {
    /// Sums over all nodes stay what the answers made them.
    Conserved,
    /// Every release is paid for once.
    Paid,
    /// Virtual time never goes back.
    Time,
    /// Rounds never go back, and who waits for everybody has heard everybody.
    Rounds,
    /// No copy of a message appears or disappears.
    Balance,
    /// What a node keeps is bounded.
    Inbox,
}

/// What each invariant says and where it comes from.
pub const TABLE: [(Invariant, &str, &str); 6] = [
    (
        Invariant::Conserved,
        "running sums always; other sums when all have finished and every message was used",
        "contract of Synchronous::add_conserved; theory 5.1",
    ),
    (
        Invariant::Paid,
        "ledger entries == releases == noise serials, never more than planned",
        "ARCHITECTURE I2 and I4",
    ),
    (
        Invariant::Time,
        "the time of an event is not before that of the last",
        "ARCHITECTURE idea 10",
    ),
    (
        Invariant::Rounds,
        "a round follows a lower one; with Patience::Forever all that are heard in a round have \
         reached it",
        "contract of Machine and Patience",
    ),
    (
        Invariant::Balance,
        "sent + retransmitted + duplicated == delivered + lost + in flight",
        "contract of events::Flow",
    ),
    (
        Invariant::Inbox,
        "at most one message of each other node and round within the lookahead",
        "contract of LOOKAHEAD",
    ),
];

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = TABLE.iter().find(|(invariant, ..)| invariant == self);
        let (_, says, source) = row.expect("every invariant has a row");
        write!(f, "{self:?} ({says}; {source})")
    }
}

/// An invariant that does not hold: a bug of ours.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("invariant {invariant} is violated at {at}: {detail}")]
pub struct Violation {
    /// Which one.
    pub invariant: Invariant,
    /// When.
    pub at: Time,
    /// What was found.
    pub detail: String,
}

/// A node's account with its ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// Entries of the ledger.
    pub entries: u64,
    /// Serial numbers that were used for noise: one past the last.
    pub serials: u64,
}

impl Account {
    /// That of an oracle that keeps its ledger in memory.
    pub fn of<R: Real>(oracle: &Oracle<R>) -> Self {
        let ledger = oracle.ledger();
        let last = ledger.entries().last();
        Self { entries: ledger.len(), serials: last.map_or(0, |entry| entry.serial + 1) }
    }
}

/// Watches a run. It costs time in proportion to nodes and messages at every event.
pub struct Invariants<P, O> {
    account: fn(&O) -> Account,
    /// Answers that a node may get.
    planned: u64,
    wirings: Wirings,
    /// Nodes as they were before their first answer.
    fresh: Vec<Option<P>>,
    /// What the first answers add up to, and the sum of their sizes.
    expected: Vec<f64>,
    size: f64,
    releases: Vec<u64>,
    rounds: Vec<u64>,
    last: Time,
}

impl<P: Clone, O> Invariants<P, O> {
    /// For a run that has not begun, with at most `planned` releases of each node.
    pub fn new<R>(events: &Events<P, R, O>, account: fn(&O) -> Account, planned: u64) -> Self
    where
        P: Synchronous<R>,
        R: Real,
    {
        let n_nodes = events.machines().len();
        // As long as the messages: no algorithm conserves more numbers than it sends.
        let width = events.protocols().next().map_or(0, |node| node.shape().width);
        Self {
            account,
            planned,
            wirings: Wirings::new(events.topology().clone(), 64),
            fresh: events.protocols().cloned().map(Some).collect(),
            expected: vec![0.0; width],
            size: 0.0,
            releases: vec![0; n_nodes],
            rounds: vec![0; n_nodes],
            last: Time::ZERO,
        }
    }

    /// Runs to the end and checks after every event.
    pub fn watch<R>(&mut self, events: &mut Events<P, R, O>) -> Result<Outcome, SimError>
    where
        P: Synchronous<R>,
        R: Real,
    {
        while events.step()? {
            self.check(events)?;
        }
        Ok(events.outcome())
    }

    /// Checks everything after one step.
    pub fn check<R>(&mut self, events: &Events<P, R, O>) -> Result<(), SimError>
    where
        P: Synchronous<R>,
        R: Real,
    {
        let at = events.now();
        let broken = |invariant, detail| SimError::from(Violation { invariant, at, detail });
        if at < self.last {
            return Err(broken(Invariant::Time, format!("the last event was at {}", self.last)));
        }
        self.last = at;
        for happening in events.happenings() {
            match happening {
                Happening::Asked { node, released: true, .. } => self.releases[node.idx()] += 1,
                Happening::Answered { node, round, answer } => {
                    if let Some(fresh) = self.fresh[node.idx()].take() {
                        let mut answered = fresh.clone();
                        answered.answer(*round, answer.clone());
                        self.expect::<R>(&fresh, &answered);
                    }
                }
                Happening::RoundDone { node, round } => {
                    self.heard_all(events, *node, *round)?;
                }
                _ => {}
            }
        }
        let unpaid = self.unpaid(events.oracles());
        let rounds = self.rounds_back(events.machines());
        let found = [
            (Invariant::Paid, unpaid),
            (Invariant::Rounds, rounds),
            (Invariant::Balance, imbalance(events)),
            (Invariant::Inbox, overfull(events.machines())),
            (Invariant::Conserved, self.drift(events)),
        ];
        match found.into_iter().find_map(|(which, detail)| Some((which, detail?))) {
            Some((invariant, detail)) => Err(broken(invariant, detail)),
            None => Ok(()),
        }
    }

    fn expect<R>(&mut self, fresh: &P, answered: &P)
    where
        P: Synchronous<R>,
        R: Real,
    {
        let mut before = vec![0.0; self.expected.len()];
        let mut after = before.clone();
        fresh.add_conserved(&mut before);
        answered.add_conserved(&mut after);
        for (sum, (before, after)) in self.expected.iter_mut().zip(before.iter().zip(&after)) {
            *sum += after - before;
            self.size = self.size.max((after - before).abs());
        }
    }

    /// Nobody who waits for everybody ends a round without everybody's message of that round.
    fn heard_all<R>(
        &mut self,
        events: &Events<P, R, O>,
        node: NodeId,
        round: u64,
    ) -> Result<(), SimError>
    where
        P: Synchronous<R>,
        R: Real,
    {
        let rounds: Vec<_> = events.machines().map(|m| (m.round(), m.patience())).collect();
        if rounds[node.idx()].1 == Patience::Deadline {
            return Ok(());
        }
        let wiring = self.wirings.at(round)?;
        match wiring.around(node).heard.iter().find(|from| rounds[from.idx()].0 < round) {
            None => Ok(()),
            Some(from) => {
                let at = rounds[from.idx()].0;
                let detail =
                    format!("node {node} ended round {round}, but node {from} is in round {at}");
                Err(Violation { invariant: Invariant::Rounds, at: events.now(), detail }.into())
            }
        }
    }

    fn unpaid<'a>(&self, oracles: impl Iterator<Item = &'a O>) -> Option<String>
    where
        O: 'a,
    {
        oracles.zip(&self.releases).enumerate().find_map(|(i, (oracle, &releases))| {
            let Account { entries, serials } = (self.account)(oracle);
            let right = entries == releases && serials == releases && releases <= self.planned;
            (!right).then(|| {
                let planned = self.planned;
                format!(
                    "node {i} has {releases} releases, {entries} entries, {serials} serials; \
                     {planned} were planned"
                )
            })
        })
    }

    fn rounds_back<'a, R>(
        &mut self,
        machines: impl Iterator<Item = &'a Machine<P, R>>,
    ) -> Option<String>
    where
        P: Synchronous<R> + 'a,
        R: Real + 'a,
    {
        for (i, (machine, last)) in machines.zip(&mut self.rounds).enumerate() {
            let round = machine.round();
            if round < *last {
                return Some(format!("node {i} went from round {last} to {round}"));
            }
            *last = round;
        }
        None
    }

    fn drift<R>(&self, events: &Events<P, R, O>) -> Option<String>
    where
        P: Synchronous<R>,
        R: Real,
    {
        if P::NEEDS == LinkNeeds::Delivery && !is_settled(events) {
            return None;
        }
        let mut sum = vec![0.0; self.expected.len()];
        events.protocols().for_each(|node| node.add_conserved(&mut sum));
        // Each round rounds each node's numbers, which running sums let grow with the rounds.
        let round = self.rounds.iter().max().map_or(1.0, |round| *round as f64 + 1.0);
        let epsilon = if size_of::<R>() == 8 { f64::EPSILON } else { f64::from(f32::EPSILON) };
        let tolerance = epsilon * self.size * self.rounds.len() as f64 * round.powf(1.5) * 4.0;
        let pairs = sum.iter().zip(&self.expected).enumerate();
        // A sum that is not a number is off, too.
        let is_near = |off: f64| off.is_finite() && off.abs() <= tolerance;
        let mut off = pairs.filter(|(_, (sum, expected))| !is_near(*sum - *expected));
        let (k, (sum, expected)) = off.next()?;
        Some(format!("number {k} sums to {sum}, the answers to {expected}"))
    }
}

/// Whether all have finished and waited for everybody, so that every message was used.
fn is_settled<P: Synchronous<R>, R: Real, O>(events: &Events<P, R, O>) -> bool {
    events.machines().all(|m| m.is_finished() && m.patience() == Patience::Forever)
}

fn imbalance<P: Synchronous<R>, R: Real, O>(events: &Events<P, R, O>) -> Option<String> {
    let (flow, in_flight) = (events.flow(), events.in_flight());
    let begun = flow.sent.messages + flow.retransmitted.messages + flow.duplicated.messages;
    let ended = flow.delivered.messages + flow.lost.messages;
    (begun != ended + in_flight)
        .then(|| format!("{begun} copies left, {ended} ended, {in_flight} are in flight"))
}

fn overfull<'a, P, R>(
    mut machines: impl ExactSizeIterator<Item = &'a Machine<P, R>>,
) -> Option<String>
where
    P: Synchronous<R> + 'a,
    R: Real + 'a,
{
    let others = machines.len() as u64 - 1;
    machines.find_map(|machine| {
        let ahead = (machine.rounds() - machine.round()).min(LOOKAHEAD + 1);
        let (kept, node) = (machine.kept() as u64, machine.node());
        (kept > others * ahead).then(|| format!("node {node} keeps {kept} messages"))
    })
}
