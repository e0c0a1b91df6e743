//! What nodes have spent on the way.

use serde::{Deserialize, Serialize};
use undertone_node::Oracle;
use undertone_privacy::ledger::Store;
use undertone_privacy::units::Epsilon;
use undertone_real::Real;

use super::Job;

/// What some nodes had spent, look after look. Of small networks all nodes are followed, of others
/// the first on each of the first sixty-four terms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spending {
    /// Who is followed, and how many are on the same terms.
    pub nodes: Vec<(u32, u32)>,
    /// What they had spent, in order of time.
    pub points: Vec<Spent>,
}

/// What had been spent after so many rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// How many rounds.
    pub round: u64,
    /// By which virtual time, in seconds; none in step.
    pub time: Option<f64>,
    /// By every node that is followed: a bound on what it had released by then
    /// ([`undertone_privacy::ledger::Ledger::so_far`]); none where there is no guarantee.
    pub epsilons: Vec<Option<Epsilon>>,
}

/// The most nodes that are followed.
const MOST: usize = 64;

/// Looks at which prices are asked for: a picture needs no more.
const LOOKS: u64 = 24;

/// Follows the ledgers of a run. Prices do not depend on the repetition, so only those of the
/// first are asked for.
pub(super) struct Follower {
    wanted: bool,
    stride: u64,
    looks: u64,
    pub(super) spending: Spending,
}

impl Follower {
    pub(super) fn new(job: &Job<'_>) -> Self {
        let plan = job.experiment.plan();
        let stride = (plan.run.rounds / plan.evaluate.every + 1).div_ceil(LOOKS);
        let wanted = job.seed == plan.seed;
        Self { wanted, stride, looks: 0, spending: Spending::default() }
    }

    /// Asks, if it is time to, or if this look is the last.
    pub(super) fn look<'o, R, S, I>(
        &mut self,
        round: u64,
        time: Option<f64>,
        last: bool,
        oracles: I,
    ) where
        R: Real + 'o,
        S: Store + 'o,
        I: Iterator<Item = &'o Oracle<R, S>>,
    {
        let now = self.looks.is_multiple_of(self.stride);
        self.looks += 1;
        let again = self.spending.points.last().is_some_and(|spent| spent.round == round);
        if !self.wanted || !(now || last) || again {
            return;
        }
        let oracles: Vec<_> = oracles.collect();
        if self.spending.nodes.is_empty() {
            self.spending.nodes = followed(&oracles);
        }
        let mut epsilons: Vec<Option<Epsilon>> = Vec::with_capacity(self.spending.nodes.len());
        for (index, (node, _)) in self.spending.nodes.iter().enumerate() {
            let ledger = oracles[*node as usize].ledger();
            let mut before = self.spending.nodes[..index].iter().enumerate();
            let same =
                before.find(|(_, (n, _))| oracles[*n as usize].ledger().is_level_with(ledger));
            let known = same.map(|(k, _)| epsilons[k]);
            let finite = |epsilon: &Epsilon| epsilon.get().is_finite();
            epsilons.push(known.unwrap_or_else(|| Some(ledger.so_far()).filter(finite)));
        }
        self.spending.points.push(Spent { round, time, epsilons });
    }
}

fn followed<R: Real, S: Store>(oracles: &[&Oracle<R, S>]) -> Vec<(u32, u32)> {
    if oracles.len() <= MOST {
        return (0..oracles.len() as u32).map(|node| (node, 1)).collect();
    }
    let mut kinds: Vec<(u32, u32)> = Vec::new();
    for (node, oracle) in (0..).zip(oracles) {
        let same = |kind: &&mut (u32, u32)| {
            oracles[kind.0 as usize].ledger().is_level_with(oracle.ledger())
        };
        if let Some((_, count)) = kinds.iter_mut().find(same) {
            *count += 1;
        } else if kinds.len() < MOST {
            kinds.push((node, 1));
        }
    }
    kinds
}
