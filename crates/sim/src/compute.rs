//! How long an oracle takes.

use serde::{Deserialize, Serialize};
use undertone_graph::NodeId;
use undertone_node::plan::Speed;

use crate::draw::{Draw, Use};
use crate::time::Time;

/// The time between a question and its answer. It depends on node and round, never on data: if it
/// did, whoever watches the clock would learn from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
#[serde(deny_unknown_fields)]
pub enum Compute {
    /// Always the same.
    Constant {
        /// How long.
        time: Time,
    },
    /// Anything between two times.
    Uniform {
        /// The shortest.
        low: Time,
        /// The longest.
        high: Time,
    },
    /// A batch of records at so many records a second, as papers on stragglers have it.
    Speed {
        /// How many records a batch has.
        records: f64,
        /// How fast nodes are.
        speed: Speed,
    },
    /// Always the same, but a random share of the nodes is slower.
    Straggler {
        /// How long a node takes that is not slower.
        time: Time,
        /// How many are slower, as a probability for each node.
        share: f64,
        /// How many times slower they are.
        factor: f64,
    },
    /// As was measured: a list for each node, over and over.
    Trace {
        /// Node by node, answer by answer.
        times: Vec<Vec<Time>>,
    },
}

impl Default for Compute {
    /// No time at all.
    fn default() -> Self {
        Self::Constant { time: Time::ZERO }
    }
}

impl Compute {
    /// How long the answer to the question of `round` takes.
    pub fn time(&self, seed: u64, node: NodeId, round: u64) -> Time {
        let draw = |round| Draw::new(seed, [u64::from(node.0), u64::MAX, round, 0]);
        match self {
            Self::Constant { time } => *time,
            Self::Uniform { low, high } => {
                let width = Time::from_nanos(high.nanos().saturating_sub(low.nanos()));
                *low + width.scaled(draw(round).uniform(Use::Compute))
            }
            Self::Speed { records, speed } => {
                let fate = draw(0).uniform(Use::Straggler);
                let rate = speed.rate(fate, draw(round).uniform(Use::Compute));
                Time::from_nanos((records / rate * 1e9) as u64)
            }
            Self::Straggler { time, share, factor } => {
                let slow = draw(0).happens(Use::Straggler, *share);
                if slow { time.scaled(*factor) } else { *time }
            }
            Self::Trace { times } => {
                let own = times.get(node.idx()).map_or(&[][..], |own| own);
                let last = own.len().max(1) as u64;
                own.get((round % last) as usize).copied().unwrap_or_default()
            }
        }
    }

    /// What is wrong with it, if anything.
    pub(crate) fn complaint(&self, n_nodes: usize) -> Option<String> {
        match self {
            Self::Constant { .. } => None,
            Self::Uniform { low, high } => {
                (low > high).then(|| format!("low ({low}) is above high ({high}); swap them"))
            }
            Self::Speed { records, speed } => {
                let fits = (0.0..=1e12).contains(records);
                let few = || format!("records is {records}; give how many a batch has");
                (!fits).then(few).or_else(|| speed.complaint())
            }
            Self::Straggler { share, factor, .. } => {
                if !(0.0..=1.0).contains(share) {
                    return Some(format!("share is {share}; give a number from 0 to 1"));
                }
                let fits = (0.0..=1e6).contains(factor);
                (!fits).then(|| format!("factor is {factor}; give a number from 0 to 1e6"))
            }
            Self::Trace { times } => {
                let found = times.len();
                let empty = times.iter().position(|own| own.is_empty());
                let few = format!("times has {found} lists for {n_nodes} nodes; give one for each");
                (found != n_nodes).then_some(few).or_else(|| {
                    empty.map(|node| format!("times of node {node} are empty; give at least one"))
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    #[test]
    fn a_trace_repeats_itself() {
        let compute = Compute::Trace { times: vec![vec![MS(1), MS(2)], vec![MS(7)]] };
        let times = |node| (0..4).map(|r| compute.time(1, NodeId(node), r)).collect::<Vec<_>>();
        assert_eq!(times(0), [MS(1), MS(2), MS(1), MS(2)]);
        assert_eq!(times(1), [MS(7); 4]);
        assert_eq!(compute.complaint(2), None);
        assert!(compute.complaint(3).unwrap().contains("2 lists for 3 nodes"));
    }

    #[test]
    fn stragglers_are_always_the_same_nodes() {
        let compute = Compute::Straggler { time: MS(10), share: 0.25, factor: 8.0 };
        let slow: Vec<u32> =
            (0..1000).filter(|i| compute.time(5, NodeId(*i), 0) == MS(80)).collect();
        // Five standard deviations.
        assert!((slow.len() as f64 - 250.0).abs() < 5.0 * (1000.0_f64 * 0.25 * 0.75).sqrt());
        for i in 0..1000 {
            let expected = if slow.contains(&i) { MS(80) } else { MS(10) };
            assert_eq!(compute.time(5, NodeId(i), 77), expected);
        }
    }

    #[test]
    fn uniform_times_stay_between_and_have_their_mean() {
        let compute = Compute::Uniform { low: MS(10), high: MS(30) };
        let times: Vec<f64> =
            (0..10_000).map(|r| compute.time(2, NodeId(1), r).seconds()).collect();
        assert!(times.iter().all(|t| (0.01..=0.03).contains(t)));
        let mean = times.iter().sum::<f64>() / 1e4;
        assert!((mean - 0.02).abs() < 5.0 * 0.02 / 12.0_f64.sqrt() / 100.0);
    }

    /// Twenty records at 10 to 90 a second: the mean of 1/V is ln(9)/80.
    #[test]
    fn a_speed_is_records_a_second() {
        let speed = Speed::Uniform { low: 10.0, high: 90.0 };
        let compute = Compute::Speed { records: 20.0, speed };
        let times: Vec<f64> =
            (0..10_000).map(|r| compute.time(2, NodeId(1), r).seconds()).collect();
        assert!(times.iter().all(|t| (20.0 / 90.0..=2.0).contains(t)));
        let mean = times.iter().sum::<f64>() / 1e4;
        // Five standard errors; the variance of 20/V is 400 (1/900 - (ln 9/80)^2).
        let expected: f64 = 20.0 * 9.0_f64.ln() / 80.0;
        let variance = 400.0 / 900.0 - expected.powi(2);
        assert!((mean - expected).abs() < 5.0 * (variance / 1e4).sqrt(), "{mean}");
        let slow = Speed::Straggler { speed: 50.0, share: 1.0, factor: 5.0 };
        let compute = Compute::Speed { records: 20.0, speed: slow };
        assert_eq!(compute.time(2, NodeId(1), 3), MS(2000));
    }

    #[test]
    fn nonsense_is_named() {
        let complaint = |json: &str| serde_json::from_str::<Compute>(json).unwrap().complaint(1);
        let straggler = r#"{"model":"straggler","time":1,"share":2,"factor":3}"#;
        assert!(complaint(straggler).unwrap().contains("share is 2"));
        assert!(complaint(r#"{"model":"uniform","low":2,"high":1}"#).is_some());
        assert!(complaint(r#"{"model":"constant","time":1}"#).is_none());
        let unknown = r#"{"model":"constant","time":1,"speed":2}"#;
        assert!(serde_json::from_str::<Compute>(unknown).is_err());
    }
}
