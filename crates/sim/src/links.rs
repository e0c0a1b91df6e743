//! What happens to messages on their way.

use serde::{Deserialize, Serialize};
use undertone_graph::NodeId;

use crate::draw::{Draw, Use};
use crate::time::Time;

/// All links of a network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Links {
    /// Whether a loss costs the message or only time.
    pub delivery: Delivery,
    /// When and how often a reliable link tries again.
    pub retry: Retry,
    /// Every link that is not listed below.
    pub link: Link,
    /// Links of their own kind.
    pub overrides: Vec<Override>,
}

/// What a loss costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// The message.
    Datagram,
    /// Time and bytes: the sender tries again until the message has arrived. Acknowledgements are
    /// not simulated; they take no time and are never lost.
    #[default]
    Reliable,
}

/// When a reliable link tries again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Retry {
    /// How long the sender waits for the first acknowledgement; after every loss twice as long as
    /// before, up to 64 times.
    pub timeout: Time,
    /// After so many attempts the message is given up.
    pub attempts: u32,
}

impl Default for Retry {
    fn default() -> Self {
        Self { timeout: Time::from_millis(200), attempts: 32 }
    }
}

impl Retry {
    /// The wait after the loss of attempt number `attempt`, from zero.
    pub fn wait(&self, attempt: u32) -> Time {
        self.timeout.scaled(f64::from(1_u32 << attempt.min(6)))
    }
}

/// One direction between two nodes. The default is ideal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Link {
    /// How long a message travels.
    pub latency: Latency,
    /// In bytes a second; unlimited if not given. A node's messages leave one after the other.
    pub bandwidth: Option<f64>,
    /// Probability that a copy of a message is lost.
    pub loss: f64,
    /// Probability that a message that is not lost arrives twice.
    pub duplication: f64,
    /// Messages that others overtake.
    pub reordering: Reordering,
}

/// A time to travel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
#[serde(deny_unknown_fields)]
pub enum Latency {
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
    /// A shortest time and a random rest without memory.
    Exponential {
        /// The shortest.
        low: Time,
        /// The mean of what comes on top.
        mean: Time,
    },
}

impl Default for Latency {
    /// At once.
    fn default() -> Self {
        Self::Constant { time: Time::ZERO }
    }
}

impl Latency {
    fn draw(&self, draw: &Draw, purpose: Use) -> Time {
        match *self {
            Self::Constant { time } => time,
            Self::Uniform { low, high } => {
                let width = Time::from_nanos(high.nanos().saturating_sub(low.nanos()));
                low + width.scaled(draw.uniform(purpose))
            }
            Self::Exponential { low, mean } => low + mean.scaled(draw.exponential(purpose)),
        }
    }
}

/// Messages that take longer than usual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Reordering {
    /// How many do.
    pub probability: f64,
    /// By how much at most; uniform from nothing.
    pub delay: Time,
}

/// A link that is not like the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Override {
    /// Who sends.
    pub from: NodeId,
    /// Who hears.
    pub to: NodeId,
    /// What the link is like.
    pub link: Link,
}

/// What becomes of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// How long the sender's uplink is busy.
    pub busy: Time,
    /// How long the message travels after that; nothing if it is lost.
    pub travels: Option<Time>,
    /// How long a second copy travels, if there is one.
    pub copy: Option<Time>,
}

impl Links {
    /// What a link is like.
    pub fn link(&self, from: NodeId, to: NodeId) -> &Link {
        let own = self.overrides.iter().find(|own| own.from == from && own.to == to);
        own.map_or(&self.link, |own| &own.link)
    }

    /// What is wrong with them, if anything.
    pub(crate) fn complaint(&self, n_nodes: usize) -> Option<String> {
        for own in &self.overrides {
            if own.from.idx().max(own.to.idx()) >= n_nodes {
                let (from, to) = (own.from, own.to);
                return Some(format!("the override {from} to {to} is beyond {n_nodes} nodes"));
            }
        }
        if self.retry.attempts == 0 {
            return Some("retry.attempts is 0; give at least 1".into());
        }
        let own = self.overrides.iter().map(|own| &own.link);
        own.chain([&self.link]).find_map(Link::complaint)
    }
}

impl Link {
    /// The fate of attempt number `attempt` to bring `bytes` of `round` from one node to another.
    /// It depends on these and the seed, and on nothing that was drawn before.
    pub(crate) fn passage(&self, seed: u64, name: [u64; 4], bytes: usize) -> Passage {
        let draw = Draw::new(seed, name);
        let busy = self.bandwidth.map_or(Time::ZERO, |rate| {
            Time::from_nanos((bytes as f64 / rate * 1e9).round() as u64)
        });
        if draw.happens(Use::Loss, self.loss) {
            return Passage { busy, travels: None, copy: None };
        }
        let held = if draw.happens(Use::Reordering, self.reordering.probability) {
            self.reordering.delay.scaled(draw.uniform(Use::ReorderingDelay))
        } else {
            Time::ZERO
        };
        let travels = Some(self.latency.draw(&draw, Use::Latency) + held);
        let doubled = draw.happens(Use::Duplication, self.duplication);
        let copy = doubled.then(|| self.latency.draw(&draw, Use::CopyLatency));
        Passage { busy, travels, copy }
    }

    fn complaint(&self) -> Option<String> {
        let probabilities = [
            ("loss", self.loss),
            ("duplication", self.duplication),
            ("reordering.probability", self.reordering.probability),
        ];
        for (name, p) in probabilities {
            if !(0.0..=1.0).contains(&p) {
                return Some(format!("{name} is {p}; give a probability from 0 to 1"));
            }
        }
        if let Latency::Uniform { low, high } = self.latency
            && low > high
        {
            return Some(format!("latency: low ({low}) is above high ({high}); swap them"));
        }
        let rate = self.bandwidth.filter(|rate| !(rate.is_finite() && *rate > 0.0));
        rate.map(|rate| {
            format!("bandwidth is {rate}; give bytes a second above 0, or leave it out")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;
    const N: u64 = 20_000;

    fn passages(link: &Link) -> Vec<Passage> {
        (0..N).map(|k| link.passage(4, [k % 5, 5 + k % 3, k, 0], 1000)).collect()
    }

    fn share(passages: &[Passage], is: impl Fn(&Passage) -> bool) -> f64 {
        passages.iter().filter(|p| is(p)).count() as f64 / passages.len() as f64
    }

    /// Five standard deviations of a share: about 1e-6.
    fn bound(p: f64, n: f64) -> f64 {
        5.0 * (p * (1.0 - p) / n).sqrt()
    }

    #[test]
    fn losses_and_copies_are_as_frequent_as_promised() {
        let link = Link { loss: 0.3, duplication: 0.1, ..Link::default() };
        let all = passages(&link);
        let lost = share(&all, |p| p.travels.is_none());
        assert!((lost - 0.3).abs() < bound(0.3, N as f64));
        let arrived: Vec<_> = all.into_iter().filter(|p| p.travels.is_some()).collect();
        let doubled = share(&arrived, |p| p.copy.is_some());
        assert!((doubled - 0.1).abs() < bound(0.1, arrived.len() as f64));
    }

    #[test]
    fn latencies_have_their_means() {
        let mean = |latency| {
            let link = Link { latency, ..Link::default() };
            let times = passages(&link).into_iter().filter_map(|p| p.travels);
            times.map(Time::seconds).sum::<f64>() / N as f64
        };
        let bound = |sd: f64| 5.0 * sd / (N as f64).sqrt();
        assert_eq!(mean(Latency::Constant { time: MS(125) }), 0.125);
        let uniform = mean(Latency::Uniform { low: MS(10), high: MS(40) });
        assert!((uniform - 0.025).abs() < bound(0.03 / 12.0_f64.sqrt()));
        let exponential = mean(Latency::Exponential { low: MS(5), mean: MS(20) });
        assert!((exponential - 0.025).abs() < bound(0.02));
    }

    #[test]
    fn bandwidth_keeps_the_uplink_busy() {
        let link = Link { bandwidth: Some(1e6), ..Link::default() };
        assert!(passages(&link).iter().all(|p| p.busy == MS(1) && p.travels == Some(Time::ZERO)));
    }

    #[test]
    fn some_are_held_back() {
        let reordering = Reordering { probability: 0.2, delay: MS(50) };
        let link =
            Link { reordering, latency: Latency::Constant { time: MS(10) }, ..Link::default() };
        let all = passages(&link);
        let held = share(&all, |p| p.travels > Some(MS(10)));
        assert!((held - 0.2).abs() < bound(0.2, N as f64));
        assert!(all.iter().all(|p| p.travels <= Some(MS(60))));
    }

    #[test]
    fn waits_double_up_to_a_limit() {
        let retry = Retry { timeout: MS(10), attempts: 32 };
        let waits = [0, 1, 2, 6, 7, 31].map(|attempt| retry.wait(attempt));
        assert_eq!(waits, [MS(10), MS(20), MS(40), MS(640), MS(640), MS(640)]);
    }

    #[test]
    fn plans_hold_links_and_nonsense_is_named() {
        let json = r#"{
            "delivery": "datagram",
            "link": {"latency": {"model": "exponential", "low": 0.01, "mean": 0.02}, "loss": 0.3},
            "overrides": [{"from": 0, "to": 1, "link": {"bandwidth": 1e6}}]
        }"#;
        let links: Links = serde_json::from_str(json).unwrap();
        assert_eq!(links.link(NodeId(1), NodeId(0)).loss, 0.3);
        assert_eq!(links.link(NodeId(0), NodeId(1)).bandwidth, Some(1e6));
        assert_eq!(links.complaint(2), None);
        assert!(links.complaint(1).unwrap().contains("override 0 to 1"));
        let lossy = |loss| Link { loss, ..Link::default() };
        assert!(lossy(1.5).complaint().unwrap().contains("loss is 1.5"));
        assert!(lossy(f64::NAN).complaint().is_some());
        let narrow = Link { bandwidth: Some(0.0), ..Link::default() };
        assert!(narrow.complaint().unwrap().contains("bandwidth"));
        assert!(serde_json::from_str::<Links>(r#"{"los": 0.3}"#).is_err());
    }
}
