//! Where a network lives: links, speeds, faults.

use serde::{Deserialize, Serialize};

use crate::compute::Compute;
use crate::faults::Faults;
use crate::links::Links;
use crate::time::Time;

/// All that a run depends on beside its nodes. The default is ideal: no time passes, and nothing
/// goes wrong.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct World {
    /// How messages travel.
    pub links: Links,
    /// How long answers take.
    pub compute: Compute,
    /// What goes wrong.
    pub faults: Faults,
    /// How long a node that does not wait for ever waits for messages. Several times the latency,
    /// or little is heard.
    pub deadline: Option<Time>,
    /// Of all that is random here.
    pub seed: u64,
}

/// What is wrong with a world.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part}: {complaint}")]
pub struct WorldError {
    /// Which part of it.
    pub part: &'static str,
    /// What is wrong, and what to do.
    pub complaint: String,
}

impl World {
    /// Checks a world for a number of nodes.
    pub fn check(&self, n_nodes: usize) -> Result<(), WorldError> {
        let parts = [
            ("links", self.links.complaint(n_nodes)),
            ("compute", self.compute.complaint(n_nodes)),
            ("faults", self.faults.complaint(n_nodes)),
        ];
        for (part, complaint) in parts {
            if let Some(complaint) = complaint {
                return Err(WorldError { part, complaint });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_holds_a_world() {
        let json = r#"{
            "links": {"delivery": "datagram", "link": {"loss": 0.3}},
            "compute": {"model": "straggler", "time": 0.01, "share": 0.1, "factor": 10},
            "deadline": 0.5,
            "seed": 7
        }"#;
        let world: World = serde_json::from_str(json).unwrap();
        assert_eq!(world.deadline, Some(Time::from_millis(500)));
        assert_eq!(world.check(3), Ok(()));
        let again: World = serde_json::from_str(&serde_json::to_string(&world).unwrap()).unwrap();
        assert_eq!(again, world);
        assert_eq!(serde_json::from_str::<World>("{}").unwrap(), World::default());
        assert!(serde_json::from_str::<World>(r#"{"dead-line": 1}"#).is_err());
    }

    #[test]
    fn a_complaint_says_where() {
        let mut world = World::default();
        world.links.link.loss = -0.1;
        let error = world.check(3).unwrap_err().to_string();
        assert_eq!(error, "links: loss is -0.1; give a probability from 0 to 1");
    }
}
