//! Whether results are what a plan expects.

use undertone_node::plan::{At, Expected};

use crate::batch::Outcome;

/// What became of one expectation for one variant, or for the ratio of two.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The number of the expectation in the plan.
    pub index: usize,
    /// What was looked at.
    pub what: String,
    /// What was found; nothing if there is no such round.
    pub found: Option<f64>,
    /// Whether it is within the band.
    pub passed: bool,
}

/// Judges every expectation.
pub fn judge(expected: &[Expected], outcomes: &[Outcome]) -> Vec<Verdict> {
    expected.iter().enumerate().flat_map(|(index, band)| verdicts(index, band, outcomes)).collect()
}

fn verdicts(index: usize, band: &Expected, outcomes: &[Outcome]) -> Vec<Verdict> {
    let what = describe(band);
    let verdict = |what: String, found: Option<f64>| {
        let within =
            |v: f64| band.min.is_none_or(|min| v >= min) && band.max.is_none_or(|max| v <= max);
        Verdict { index, what, found, passed: found.is_some_and(within) }
    };
    if let (Some(of), Some(over)) = (&band.of, &band.over) {
        let find = |set| outcomes.iter().find(|outcome| outcome.variant.matches(set));
        let (Some(of), Some(over)) = (find(of), find(over)) else {
            return vec![verdict(what, None)];
        };
        let ratio = value(band, of).zip(value(band, over)).map(|(of, over)| of / over);
        let what = format!("{what}: {} over {}", of.variant.label(), over.variant.label());
        return vec![verdict(what, ratio)];
    }
    let chosen = outcomes.iter().filter(|outcome| outcome.variant.matches(&band.matching));
    chosen
        .map(|outcome| {
            let label = outcome.variant.label();
            let what = if label.is_empty() { what.clone() } else { format!("{what}: {label}") };
            verdict(what, value(band, outcome))
        })
        .collect()
}

fn describe(band: &Expected) -> String {
    let Expected { metric, .. } = band;
    match (band.slope_of_log, band.at) {
        (Some([from, to]), _) => format!("slope of log {metric}, rounds {from} to {to}"),
        (None, At::Last) => format!("last {metric}"),
        (None, At::RoundsRun) => "rounds run".into(),
        (None, At::Round(round)) => format!("{metric} after {round} rounds"),
    }
}

fn value(band: &Expected, outcome: &Outcome) -> Option<f64> {
    let metric = band.metric.as_str();
    let at = |round: u64| {
        let points = outcome.points();
        points.iter().find(|p| p.round == round).and_then(|p| p.metrics.get(metric).copied())
    };
    if let Some([from, to]) = band.slope_of_log {
        return Some((at(to)?.ln() - at(from)?.ln()) / (to - from) as f64);
    }
    match (metric, band.at) {
        ("epsilon", _) => outcome.weakest().map(|guarantee| guarantee.epsilon.get()),
        ("claimed-epsilon", _) => {
            let claims = &outcome.runs.first()?.run.claims;
            claims.iter().flatten().map(|claim| claim.epsilon.get()).reduce(f64::max)
        }
        (_, At::Last) => outcome.last(metric),
        (_, At::RoundsRun) => Some(outcome.rounds()),
        (_, At::Round(round)) => at(round),
    }
}
