//! Nodes that go away and come back, and networks that fall apart.

use serde::{Deserialize, Serialize};
use undertone_graph::NodeId;

use crate::draw::{Draw, Use};
use crate::time::Time;

/// All that goes wrong beside the links.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Faults {
    /// One by one.
    pub events: Vec<Fault>,
    /// At random.
    pub churn: Option<Churn>,
    /// Times in which the network is in parts.
    pub partitions: Vec<Partition>,
}

/// Something that happens to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Fault {
    /// When.
    pub at: Time,
    /// To whom.
    pub node: NodeId,
    /// What.
    pub kind: FaultKind,
}

/// What happens to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// It stops. What it has, its ledger and an answer that is paid for survive, as on disk.
    Crash,
    /// It stops for good and takes with it what it has: the others then agree on something that
    /// differs from the mean by that. (The sum that running sums conserve still counts it.)
    Leave,
    /// It continues where it was; see [`Input::Rejoin`](undertone_protocol::Input::Rejoin).
    Rejoin,
}

/// Nodes that crash and rejoin at random; both times have no memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Churn {
    /// How many nodes ever crash, as a probability for each.
    pub share: f64,
    /// How long such a node runs between crashes, on average.
    pub mean_uptime: Time,
    /// How long it is away, on average.
    pub mean_downtime: Time,
    /// No crash comes after this.
    pub until: Time,
}

/// A time in which the network is in parts. A datagram from one part to another is lost; a reliable
/// link holds messages back until the end. What is on its way when it begins still arrives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Partition {
    /// The beginning.
    pub from: Time,
    /// The end.
    pub until: Time,
    /// The parts; nodes that are in none are together in one more.
    pub groups: Vec<Vec<NodeId>>,
}

/// More crashes of one node than this are nonsense, and would take all memory.
const MAX_CRASHES: u64 = 100_000;

impl Faults {
    /// All faults of single nodes, in order of time; what was listed comes before what was drawn.
    pub(crate) fn timeline(&self, seed: u64, n_nodes: usize) -> Vec<Fault> {
        let mut all = self.events.clone();
        if let Some(churn) = &self.churn {
            (0..n_nodes as u32).for_each(|i| all.extend(churn.of_node(seed, NodeId(i))));
        }
        all.sort_by_key(|fault| fault.at);
        all
    }

    /// When a message can go from one node to another, at the earliest.
    pub(crate) fn open_from(&self, now: Time, from: NodeId, to: NodeId) -> Time {
        let mut open = now;
        // A partition that ends may give way to another one.
        while let Some(shut) = self.partitions.iter().find(|p| p.separates(open, from, to)) {
            open = shut.until;
        }
        open
    }

    /// What is wrong with them, if anything.
    pub(crate) fn complaint(&self, n_nodes: usize) -> Option<String> {
        if let Some(fault) = self.events.iter().find(|fault| fault.node.idx() >= n_nodes) {
            return Some(format!("an event is of node {}, beyond {n_nodes} nodes", fault.node));
        }
        if let Some(partition) = self.partitions.iter().find(|p| p.from >= p.until) {
            let Partition { from, until, .. } = partition;
            return Some(format!("a partition from {from} ends at {until}; it must end later"));
        }
        for partition in &self.partitions {
            let mut nodes: Vec<NodeId> = partition.groups.iter().flatten().copied().collect();
            nodes.sort_unstable();
            if let Some(pair) = nodes.windows(2).find(|pair| pair[0] == pair[1]) {
                return Some(format!("node {} is in two groups of a partition", pair[0]));
            }
            if let Some(node) = nodes.last().filter(|node| node.idx() >= n_nodes) {
                return Some(format!("a partition has node {node}, beyond {n_nodes} nodes"));
            }
        }
        let churn = self.churn.as_ref()?;
        if !(0.0..=1.0).contains(&churn.share) {
            return Some(format!("churn.share is {}; give a number from 0 to 1", churn.share));
        }
        let crashes = churn.until.nanos() / churn.mean_uptime.nanos().max(1);
        (crashes > MAX_CRASHES).then(|| {
            format!("churn means {crashes} crashes a node; raise mean-uptime or lower until")
        })
    }
}

impl Churn {
    /// A node's crashes, each with its return.
    fn of_node(&self, seed: u64, node: NodeId) -> Vec<Fault> {
        let draw = |k| Draw::new(seed, [u64::from(node.0), u64::MAX - 1, k, 0]);
        let mut faults = Vec::new();
        if !draw(0).happens(Use::Churn, self.share) {
            return faults;
        }
        let mut now = Time::ZERO;
        for k in 0..MAX_CRASHES {
            let crash = now + self.mean_uptime.scaled(draw(k).exponential(Use::Uptime));
            if crash > self.until {
                break;
            }
            now = crash + self.mean_downtime.scaled(draw(k).exponential(Use::Downtime));
            faults.push(Fault { at: crash, node, kind: FaultKind::Crash });
            faults.push(Fault { at: now, node, kind: FaultKind::Rejoin });
        }
        faults
    }
}

impl Partition {
    fn separates(&self, now: Time, from: NodeId, to: NodeId) -> bool {
        let group = |node| self.groups.iter().position(|group| group.contains(&node));
        self.from <= now && now < self.until && group(from) != group(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    #[test]
    fn churn_is_as_frequent_as_promised_and_always_ends() {
        let churn =
            Churn { share: 0.5, mean_uptime: MS(100), mean_downtime: MS(20), until: MS(10_000) };
        let (mut gone, mut crashes, mut downtime) = (0.0, 0.0, 0.0);
        for i in 0..400 {
            let faults = churn.of_node(7, NodeId(i));
            gone += f64::from(u8::from(!faults.is_empty()));
            for pair in faults.chunks(2) {
                assert_eq!([pair[0].kind, pair[1].kind], [FaultKind::Crash, FaultKind::Rejoin]);
                assert!(pair[0].at <= churn.until && pair[0].at <= pair[1].at);
                crashes += 1.0;
                downtime += pair[1].at.seconds() - pair[0].at.seconds();
            }
        }
        assert!((gone - 200.0_f64).abs() < 5.0 * 10.0);
        // A crash every 120 ms: a renewal process, whose count varies no more than a Poisson one.
        let expected = gone * 10_000.0 / 120.0;
        assert!((crashes - expected).abs() < 5.0 * expected.sqrt() + gone);
        assert!((downtime / crashes - 0.02).abs() < 5.0 * 0.02 / crashes.sqrt());
    }

    #[test]
    fn partitions_separate_only_while_they_last() {
        let shut = |from, until, groups: &[&[u32]]| Partition {
            from: MS(from),
            until: MS(until),
            groups: groups.iter().map(|g| g.iter().map(|i| NodeId(*i)).collect()).collect(),
        };
        let partitions = vec![shut(10, 20, &[&[0, 1], &[2]]), shut(20, 30, &[&[0]])];
        let faults = Faults { partitions, ..Faults::default() };
        let open = |now, a, b| faults.open_from(MS(now), NodeId(a), NodeId(b));
        assert_eq!(open(9, 0, 2), MS(9));
        assert_eq!(open(10, 0, 1), MS(10));
        assert_eq!(open(10, 1, 2), MS(20));
        // Shut twice in a row.
        assert_eq!(open(10, 0, 2), MS(30));
        // Those in no group are together.
        assert_eq!((open(12, 3, 4), open(12, 3, 2)), (MS(12), MS(20)));
        assert_eq!(faults.complaint(5), None);
        assert!(faults.complaint(2).unwrap().contains("beyond 2 nodes"));
    }

    #[test]
    fn plans_hold_faults_and_nonsense_is_named() {
        let json = r#"{
            "events": [{"at": 1.5, "node": 3, "kind": "leave"}],
            "churn": {"share": 0.2, "mean-uptime": 5, "mean-downtime": 1, "until": 60}
        }"#;
        let mut faults: Faults = serde_json::from_str(json).unwrap();
        assert_eq!(faults.events[0].kind, FaultKind::Leave);
        assert_eq!(faults.complaint(4), None);
        assert!(faults.complaint(3).unwrap().contains("node 3"));
        faults.churn.as_mut().unwrap().mean_uptime = Time::ZERO;
        assert!(faults.complaint(4).unwrap().contains("raise mean-uptime"));
        assert!(serde_json::from_str::<Faults>(r#"{"crashes": []}"#).is_err());
    }
}
