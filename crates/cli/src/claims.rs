//! `undertone claims`.

use clap::Args;
use serde_json::{Value, json};
use undertone_privacy::claims::counterexample::{self, Counterexample, Outcome};
use undertone_privacy::claims::{self, Claim, Comparison, Guarantee, Side};
use undertone_privacy::units::Epsilon;

use crate::output;

/// What the papers claim, the verdict, and the true value, recomputed now.
#[derive(Args)]
#[command(after_help = "\
Examples:
  undertone claims                          the whole table
  undertone claims privsgp-vr               one algorithm in full
  undertone claims --counterexample CE-4    an instance that breaks a theorem")]
pub struct Claims {
    /// One algorithm, such as pr-admm-periodic
    algorithm: Option<String>,
    /// One counterexample, CE-1 to CE-15
    #[arg(long, value_name = "CE-k", conflicts_with = "algorithm")]
    counterexample: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Claims {
    pub fn run(self) -> Result<String, String> {
        if let Some(id) = &self.counterexample {
            let example = counterexample::find(id)
                .ok_or_else(|| format!("no counterexample {id}; they are CE-1 to CE-15"))?;
            let outcomes = (example.evaluate)();
            return Ok(if self.json {
                output::json(&example_json(example, &outcomes))
            } else {
                example_text(example, &outcomes)
            });
        }
        if let Some(name) = &self.algorithm {
            let claim = claims::find(name).ok_or_else(|| {
                let nearest = claims::nearest(name);
                format!("no algorithm {name}; did you mean {nearest}? `undertone claims` lists all")
            })?;
            return Ok(if self.json {
                output::json(&claim_json(claim))
            } else {
                claim_text(claim)
            });
        }
        let all = claims::all();
        if self.json {
            return Ok(output::json(&Value::Array(all.iter().map(claim_json).collect())));
        }
        let header = ["algorithm", "paper", "verdict", "claimed", "true", "why"];
        Ok(format!(
            "{}\n(epsilon, delta) of the claim at the paper's own parameters, and what is true \
             there;\nfor unsound claims the worst case of the counterexample. `undertone claims \
             ALGORITHM` tells more.",
            output::table(&header, all.iter().map(row).collect())
        ))
    }
}

fn row(claim: &Claim) -> Vec<String> {
    let (claimed, truth) = match claim.violation() {
        Some(outcome) => (guarantee(Some(&outcome.claimed)), truth_of(&outcome)),
        None => {
            let comparison = claim.compare();
            (guarantee(comparison.claimed.as_ref()), side(&comparison))
        }
    };
    vec![
        claim.algorithm.into(),
        claim.paper.into(),
        claim.verdict.to_string(),
        claimed,
        truth,
        claim.reason.into(),
    ]
}

fn claim_text(claim: &Claim) -> String {
    let comparison = claim.compare();
    let mut facts = vec![
        ("algorithm", claim.algorithm.to_string()),
        ("paper", claim.paper.into()),
        ("verdict", claim.verdict.to_string()),
        ("why", claim.reason.into()),
        ("we ship", claim.shipped.into()),
        ("instance", comparison.instance.into()),
        ("claimed", guarantee(comparison.claimed.as_ref())),
        ("true", side(&comparison)),
        ("adjacency", comparison.adjacency.to_string()),
        ("theorem", comparison.theorem.into()),
    ];
    if let (Some(id), Some(worst)) = (claim.counterexample, claim.violation()) {
        facts.push(("broken by", format!("{id}: {}", worst.case)));
        facts.push(("  claimed", guarantee(Some(&worst.claimed))));
        facts.push(("  true", truth_of(&worst)));
    }
    output::facts(&facts)
}

fn claim_json(claim: &Claim) -> Value {
    let mut value = serde_json::to_value(claim).expect("a claim is plain data");
    value["comparison"] = serde_json::to_value(claim.compare()).expect("plain data");
    value["violation"] = serde_json::to_value(claim.violation()).expect("plain data");
    value
}

fn example_text(example: &Counterexample, outcomes: &[Outcome]) -> String {
    let facts = output::facts(&[
        ("counterexample", example.id.to_string()),
        ("breaks", example.claim.into()),
        ("instance", example.instance.into()),
    ]);
    let row = |outcome: &Outcome| {
        vec![
            outcome.case.to_string(),
            guarantee(Some(&outcome.claimed)),
            format!("{:.6e}", outcome.delta.get()),
            at_least(outcome.epsilon),
            if outcome.exact { "exact" } else { "at least" }.into(),
        ]
    };
    let header =
        ["case", "claimed", "true delta at that epsilon", "true epsilon at that delta", "bound"];
    format!("{facts}\n{}", output::table(&header, outcomes.iter().map(row).collect()))
}

fn example_json(example: &Counterexample, outcomes: &[Outcome]) -> Value {
    json!({
        "id": example.id,
        "claim": example.claim,
        "instance": example.instance,
        "outcomes": outcomes,
    })
}

fn guarantee(guarantee: Option<&Guarantee>) -> String {
    guarantee.map_or("nothing".into(), |g| {
        if g.epsilon.get().is_infinite() { "no guarantee".into() } else { g.to_string() }
    })
}

fn side(comparison: &Comparison) -> String {
    let truth = guarantee(Some(&comparison.truth));
    match comparison.side {
        _ if comparison.truth.epsilon.get().is_infinite() => truth,
        Side::AtLeast => format!("at least {truth}"),
        Side::AtMost => format!("at most {truth}"),
        Side::Exact => truth,
    }
}

fn truth_of(outcome: &Outcome) -> String {
    let bound = if outcome.exact { "" } else { "at least " };
    format!(
        "delta {bound}{:.4e}, epsilon {}",
        outcome.delta.get(),
        output::epsilon(outcome.epsilon)
    )
}

/// A bound from below is rounded down.
fn at_least(epsilon: Epsilon) -> String {
    if epsilon.get().is_infinite() {
        return output::epsilon(epsilon);
    }
    output::significant_below(epsilon.get())
}
