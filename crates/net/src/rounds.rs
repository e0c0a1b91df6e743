//! The rules of time: how long to wait, for how many, and whom to ask before the first release.

use std::time::Duration;

use undertone_node::plan::{Plan, PlanError};
use undertone_protocol::Patience;

/// How rounds go by the clock. All nodes have the same, from the plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounds {
    /// How long to wait for messages; for ever if there is none.
    pub deadline: Option<Duration>,
    /// At the deadline a round goes on if at least this share of those who should be heard were.
    /// Otherwise it waits on: a node that is cut off does not train alone.
    pub quorum: f64,
    /// How many of those who hear a node must have shown it the last word they have of it before it
    /// releases anything, each time it starts; all of them if there is no number.
    pub witnesses: Option<usize>,
}

impl Rounds {
    /// Those of a plan.
    pub fn of(plan: &Plan) -> Result<Self, PlanError> {
        let Some(written) = &plan.rounds else {
            return Ok(Self { deadline: None, quorum: 1.0, witnesses: None });
        };
        let error =
            |key: &str, message: String| Err(PlanError::new(format!("rounds.{key}"), message));
        let deadline = match written.deadline {
            None => None,
            Some(seconds) if seconds > 0.0 && seconds <= MAX_DEADLINE => {
                Some(Duration::from_secs_f64(seconds))
            }
            Some(seconds) => {
                let message = format!(
                    "is in seconds, above 0 and at most {MAX_DEADLINE}, got {seconds}; leave it \
                     out to wait for ever"
                );
                return error("deadline", message);
            }
        };
        let quorum = written.quorum.unwrap_or(0.0);
        if !(0.0..=1.0).contains(&quorum) {
            return error("quorum", format!("is a share from 0 to 1, got {quorum}"));
        }
        if written.quorum.is_some() && deadline.is_none() {
            return error("quorum", "means nothing without rounds.deadline; add one".into());
        }
        if written.witnesses == Some(0) {
            let message = "must be at least 1: without a witness a lost store is not noticed";
            return error("witnesses", message.into());
        }
        Ok(Self { deadline, quorum, witnesses: written.witnesses.map(|n| n as usize) })
    }

    /// As the machine calls it.
    pub fn patience(&self) -> Patience {
        if self.deadline.is_some() { Patience::Deadline } else { Patience::Forever }
    }

    /// Whether a round may end at its deadline without the missing.
    pub fn suffices(&self, missing: usize, heard: usize) -> bool {
        (heard - missing) as f64 >= self.quorum * heard as f64
    }

    /// How many witnesses a node with so many hearers needs.
    pub fn needed(&self, hearers: usize) -> usize {
        self.witnesses.map_or(hearers, |witnesses| witnesses.min(hearers))
    }
}

/// A day.
const MAX_DEADLINE: f64 = 86_400.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quorum_is_a_share_of_those_who_should_be_heard() {
        let rounds = Rounds { deadline: None, quorum: 0.5, witnesses: Some(3) };
        assert!(rounds.suffices(2, 4) && !rounds.suffices(3, 4));
        assert!(rounds.suffices(0, 0));
        assert_eq!((rounds.needed(2), rounds.needed(9)), (2, 3));
        assert_eq!(Rounds { witnesses: None, ..rounds }.needed(9), 9);
        assert!(Rounds { quorum: 0.0, ..rounds }.suffices(4, 4));
    }
}
