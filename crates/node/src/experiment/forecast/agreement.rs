//! How fast nodes agree, as the bound on descent needs it.

use undertone_graph::{Mixing, SpectrumError, Weights, window_contraction};
use undertone_protocol::Topology;

use crate::plan::PlanError;

/// What is left of disagreement, summed over all rounds since: of its squares, and of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Agreement {
    pub squares: f64,
    pub sums: f64,
}

/// Windows are doubled until one shrinks disagreement to this.
const ENOUGH: f64 = 0.9;
const LONGEST: u64 = 512;

impl Agreement {
    /// Of a network; `mixes_first` if nodes step after they have mixed.
    pub(super) fn of(topology: &Topology, mixes_first: bool) -> Result<Self, PlanError> {
        let mut window = topology.schedule().period().unwrap_or(1).clamp(1, LONGEST);
        let contraction = loop {
            let c = contraction(topology, window)?;
            if c <= ENOUGH || (2 * window > LONGEST && c < 1.0) {
                break c;
            }
            if 2 * window > LONGEST {
                let message = format!("nodes do not come to agree within {window} rounds");
                return Err(PlanError::new("network.topology", message));
            }
            window *= 2;
        };
        Ok(Self::new(window, contraction, mixes_first))
    }

    fn new(window: u64, contraction: f64, mixes_first: bool) -> Self {
        let (w, c) = (window as f64, contraction);
        // What a round adds counts in full, if it is not mixed in the same round.
        let own = if mixes_first { 0.0 } else { 1.0 };
        Self { squares: w / (1.0 - c * c) - own, sums: w / (1.0 - c) - own }
    }
}

fn contraction(topology: &Topology, window: u64) -> Result<f64, PlanError> {
    let wrong = |message: String| PlanError::new("network.topology", message);
    let mixing = |round| {
        let wiring = topology.wiring_at(round).map_err(|e| wrong(e.to_string()))?;
        match wiring.pull {
            Some(pull) => Ok(pull),
            None => Mixing::new(&wiring.graph, Weights::Out).map_err(|e| wrong(e.to_string())),
        }
    };
    let mixings: Vec<_> = (0..window).map(mixing).collect::<Result<_, _>>()?;
    match window_contraction(&mixings) {
        Ok(found) => Ok(found),
        Err(SpectrumError::Slow { estimate, .. }) => Ok(estimate),
        Err(error) => Err(wrong(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use undertone_graph::Schedule;

    use super::*;

    #[test]
    fn the_exponential_graph_agrees_after_a_period() {
        let topology = Topology::new(Schedule::Exponential { nodes: 16 });
        let found = Agreement::of(&topology, false).unwrap();
        // Four rounds average exactly: what was added one to three rounds ago is left.
        assert!((found.squares - 3.0).abs() < 1e-9 && (found.sums - 3.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn a_round_that_shrinks_by_half_leaves_a_geometric_series() {
        for (mixes_first, squares, sums) in [(true, 4.0 / 3.0, 2.0), (false, 1.0 / 3.0, 1.0)] {
            let found = Agreement::new(1, 0.5, mixes_first);
            assert!((found.squares - squares).abs() < 1e-15 && found.sums == sums, "{found:?}");
        }
    }
}
