//! What a node counts: no names, no values, nothing that depends on data.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::frame::Refusal;

/// A number that several threads may read.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// More.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// This much.
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// How much.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// All counters of a node.
#[derive(Debug, Default)]
pub struct Counters {
    /// The round it is in.
    pub round: Counter,
    /// Peers it is connected to.
    pub peers: Counter,
    /// Debits of its ledger.
    pub debits: Counter,
    /// Transactions of its store.
    pub commits: Counter,
    /// Messages that were taken in.
    pub heard: Counter,
    /// Messages that were written to peers, also again.
    pub sent: Counter,
    /// Bytes of frames from peers.
    pub bytes_in: Counter,
    /// Bytes of frames to peers.
    pub bytes_out: Counter,
    /// Messages that came after their round was over.
    pub late: Counter,
    /// Messages that came again.
    pub doubled: Counter,
    /// Rounds that ended at their deadline.
    pub deadlines: Counter,
    /// How often rounds were passed over.
    pub rejoins: Counter,
    /// How often a peer was connected anew.
    pub sessions: Counter,
    refused: [Counter; Refusal::ALL.len()],
}

impl Counters {
    /// Something was refused.
    pub fn refuse(&self, refusal: Refusal) {
        self.refused[place(refusal)].add(1);
    }

    /// How often that was refused.
    pub fn refused(&self, refusal: Refusal) -> u64 {
        self.refused[place(refusal)].get()
    }

    /// In the text format of Prometheus.
    pub fn prometheus(&self, node: u32) -> String {
        let mut text = String::new();
        for (name, kind, help, counter) in [
            ("round", "gauge", "The round the node is in", &self.round),
            ("peers", "gauge", "Connected peers", &self.peers),
            ("ledger_debits", "gauge", "Debits of the ledger", &self.debits),
            ("store_commits_total", "counter", "Durable transactions", &self.commits),
            ("messages_heard_total", "counter", "Messages taken in", &self.heard),
            ("messages_sent_total", "counter", "Messages written to peers", &self.sent),
            ("bytes_received_total", "counter", "Bytes from peers", &self.bytes_in),
            ("bytes_sent_total", "counter", "Bytes to peers", &self.bytes_out),
            ("messages_late_total", "counter", "Messages after their round", &self.late),
            ("messages_doubled_total", "counter", "Messages that came again", &self.doubled),
            ("deadlines_total", "counter", "Rounds that ended at a deadline", &self.deadlines),
            ("rejoins_total", "counter", "Times rounds were passed over", &self.rejoins),
            ("sessions_total", "counter", "Handshakes that succeeded", &self.sessions),
        ] {
            let _ =
                writeln!(text, "# HELP undertone_{name} {help}\n# TYPE undertone_{name} {kind}");
            let _ = writeln!(text, "undertone_{name}{{node=\"{node}\"}} {}", counter.get());
        }
        text += "# HELP undertone_refused_total Peers and messages that were refused\n";
        text += "# TYPE undertone_refused_total counter\n";
        for refusal in Refusal::ALL {
            let (name, count) = (refusal.name(), self.refused(*refusal));
            let _ = writeln!(
                text,
                "undertone_refused_total{{node=\"{node}\",reason=\"{name}\"}} {count}"
            );
        }
        text
    }
}

fn place(refusal: Refusal) -> usize {
    Refusal::ALL.iter().position(|other| *other == refusal).expect("all are listed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_a_line() {
        let counters = Counters::default();
        counters.refuse(Refusal::Flood);
        counters.refuse(Refusal::Flood);
        let text = counters.prometheus(3);
        assert!(text.contains("undertone_refused_total{node=\"3\",reason=\"flood\"} 2\n"));
        assert!(text.contains("undertone_refused_total{node=\"3\",reason=\"forged\"} 0\n"));
        assert!(text.contains("# TYPE undertone_round gauge\nundertone_round{node=\"3\"} 0\n"));
    }
}
