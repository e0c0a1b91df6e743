//! How many records a node's batches have, round by round.

use undertone_graph::NodeId;
use undertone_privacy::sampler::{FixedSizeSampler, PoissonSampler, Sampler};
use undertone_privacy::units::{OutOfRange, Probability};
use undertone_protocol::PublicBits;

use crate::plan::{DeadlinePlan, Plan, PlanError, SamplingWord};

/// The sizes of a node's batches, on average or exactly. Public: they depend on the plan and on the
/// number of records only.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Batches {
    /// Round by round, or one for all rounds.
    sizes: Vec<u64>,
    rounds: u64,
}

/// Speeds that are told apart. Every node has all of them, equally often, in an order of its own:
/// so their batches cost all the same, and few sizes have to be priced.
const LEVELS: u64 = 8;

/// Lanes of public bits.
const FATE: u64 = 0x5e;
const ORDER: u64 = 0x5f;

impl Batches {
    /// Of a node with so many records.
    pub(super) fn new(
        plan: &Plan,
        node: u32,
        records: usize,
        rounds: u64,
    ) -> Result<Self, PlanError> {
        if let Some(deadline) = &plan.algorithm.deadline {
            return Self::in_time(plan, deadline, node, records, rounds);
        }
        let size = match plan.algorithm.sampling {
            None | Some(SamplingWord::Full) => records as u64,
            Some(_) => plan.algorithm.batch.unwrap_or(1),
        };
        Ok(Self { sizes: vec![size], rounds })
    }

    /// As many records as there is time for.
    fn in_time(
        plan: &Plan,
        deadline: &DeadlinePlan,
        node: u32,
        records: usize,
        rounds: u64,
    ) -> Result<Self, PlanError> {
        let fate = PublicBits::new(plan.seed, NodeId(node), 0, FATE).uniform();
        let size = |slot: u64| {
            let level = slot * LEVELS / rounds;
            let luck = (level as f64 + 0.5) / LEVELS as f64;
            let processed = (deadline.speed.rate(fate, luck) * deadline.time).floor();
            (processed as u64).min(records as u64)
        };
        let mut sizes: Vec<u64> = (0..rounds).map(size).collect();
        if sizes.iter().all(|size| *size == 0) {
            let message = format!("leaves node {node} no time for a record; take a longer one");
            return Err(PlanError::new("algorithm.deadline.time", message));
        }
        let mut bits = PublicBits::new(plan.seed, NodeId(node), 0, ORDER);
        for last in (1..sizes.len()).rev() {
            sizes.swap(last, bits.below(last as u64 + 1) as usize);
        }
        Ok(Self { sizes, rounds })
    }

    /// Round by round, over and over.
    pub(super) fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// Every size, increasing, and in how many rounds it is; rounds without a record are left out.
    pub(super) fn counts(&self) -> Vec<(u64, u64)> {
        if let [size] = self.sizes[..] {
            return vec![(size, self.rounds)];
        }
        let mut sorted = self.sizes.clone();
        sorted.sort_unstable();
        let groups = sorted.chunk_by(|a, b| a == b);
        groups.map(|group| (group[0], group.len() as u64)).filter(|(size, _)| *size > 0).collect()
    }

    /// Whether they change from round to round.
    pub(super) fn vary(&self) -> bool {
        self.sizes.len() > 1
    }
}

/// How a batch of a size is drawn from so many records.
pub(super) fn sampler(plan: &Plan, size: u64, records: usize) -> Result<Sampler, OutOfRange> {
    Ok(match plan.algorithm.sampling {
        None | Some(SamplingWord::Full) => Sampler::Full,
        Some(SamplingWord::Single) => Sampler::FixedSize(FixedSizeSampler::new(1, records)?),
        Some(SamplingWord::FixedSize) => {
            Sampler::FixedSize(FixedSizeSampler::new(size as usize, records)?)
        }
        Some(SamplingWord::Poisson) => {
            let probability = Probability::new(size as f64 / records as f64)?;
            Sampler::Poisson(PoissonSampler { probability })
        }
    })
}
