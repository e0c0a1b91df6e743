//! `undertone calibrate`.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use undertone_privacy::accountant::Accountant;
use undertone_privacy::calibrate::Target;
use undertone_privacy::event::{Event, Laplace};
use undertone_privacy::units::{Adjacency, Delta, Epsilon, Probability, Scale, Sensitivity};

use crate::output;
use crate::parse::{self, AccountantFlag, AdjacencyFlag};

/// Find the noise, the rounds, the sampling rate or the budget that the others leave open.
///
/// Without --noise-multiplier the least noise is found (rate and rounds are 1 unless given). With
/// it, leave out exactly one of --epsilon, --rounds and --rate: that one is found. The answer
/// always keeps the budget.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  undertone calibrate --epsilon 1 --delta 1e-5
  undertone calibrate --epsilon 1 --delta 1e-5 --rate 0.01 --rounds 10000 --json
  undertone calibrate --epsilon 2 --delta 1e-6 --rate 0.01 --noise-multiplier 1.1
  undertone calibrate --rate 0.01 --rounds 1000 --node clinic=1,1e-5 --node bank=3,1e-6"
)]
pub struct Calibrate {
    /// The budget's epsilon
    #[arg(long, value_parser = parse::epsilon, value_name = "E")]
    epsilon: Option<Epsilon>,
    /// The budget's delta
    #[arg(long, value_parser = parse::delta, value_name = "D", required_unless_present = "node")]
    delta: Option<Delta>,
    /// A node with its own budget; may be repeated
    #[arg(long, value_parser = parse::node_budget, value_name = "NAME=E,D",
          conflicts_with_all = ["epsilon", "delta", "noise_multiplier"])]
    node: Vec<(String, Epsilon, Delta)>,
    /// Noise over sensitivity; see `undertone account --help` for which sensitivity
    #[arg(long, value_parser = parse::scale, value_name = "Z")]
    noise_multiplier: Option<Scale>,
    /// Share of records in a round
    #[arg(long, value_parser = parse::probability, value_name = "Q")]
    rate: Option<Probability>,
    /// Number of rounds
    #[arg(long, value_parser = parse::count, value_name = "T")]
    rounds: Option<u64>,
    /// How a round's records are drawn
    #[arg(long, value_enum, default_value = "poisson")]
    sampling: Sampling,
    /// What is added to a round's sum
    #[arg(long, value_enum, default_value = "gaussian")]
    mechanism: Mechanism,
    /// Who must agree that the budget is kept
    #[arg(long, value_enum, default_value = "best")]
    accountant: AccountantFlag,
    /// Which data sets are neighbours [default: add-remove; replace for a fixed sample size]
    #[arg(long, value_enum)]
    adjacency: Option<AdjacencyFlag>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Sampling {
    Poisson,
    Fixed,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Mechanism {
    Gaussian,
    Laplace,
}

/// All four numbers, one of them found.
struct Solution {
    node: Option<String>,
    found: &'static str,
    noise_multiplier: Scale,
    rate: Probability,
    rounds: u64,
    target: Target,
    spent: Epsilon,
    accountant: Accountant,
    theorem: &'static str,
}

impl Calibrate {
    pub fn run(self) -> Result<String, String> {
        let solutions = if self.node.is_empty() {
            vec![self.solve(None, self.epsilon, self.delta.expect("clap requires it"))?]
        } else {
            let nodes = self.node.iter();
            nodes
                .map(|(name, epsilon, delta)| {
                    let solved = self.solve(Some(name.clone()), Some(*epsilon), *delta);
                    solved.map_err(|error| format!("node {name}: {error}"))
                })
                .collect::<Result<_, _>>()?
        };
        Ok(if self.json { self.as_json(&solutions) } else { self.as_text(&solutions) })
    }

    fn solve(
        &self,
        node: Option<String>,
        epsilon: Option<Epsilon>,
        delta: Delta,
    ) -> Result<Solution, String> {
        let one = Probability::new(1.0).expect("one is a probability");
        let unbounded = Epsilon::INFINITE;
        let mut target = Target {
            epsilon: epsilon.unwrap_or(unbounded),
            delta,
            adjacency: self.adjacency(),
            accountant: self.accountant.into(),
        };
        let say = |error: undertone_privacy::calibrate::CalibrateError| error.to_string();
        let (found, noise, rate, rounds) =
            match (self.noise_multiplier, epsilon, self.rounds, self.rate) {
                (None, Some(_), rounds, rate) => {
                    let (rounds, rate) = (rounds.unwrap_or(1), rate.unwrap_or(one));
                    let noise = target.noise(|z| self.event(z, rate, rounds)).map_err(say)?;
                    ("noise_multiplier", noise, rate, rounds)
                }
                (Some(noise), None, rounds, rate) => {
                    ("epsilon", noise, rate.unwrap_or(one), rounds.unwrap_or(1))
                }
                (Some(noise), Some(_), None, rate) => {
                    let rate = rate.unwrap_or(one);
                    let rounds = target.rounds(|t| self.event(noise, rate, t)).map_err(say)?;
                    ("rounds", noise, rate, rounds)
                }
                (Some(noise), Some(_), Some(rounds), None) => {
                    let rate = target.rate(|q| self.event(noise, q, rounds)).map_err(say)?;
                    ("rate", noise, rate, rounds)
                }
                (None, None, ..) => {
                    return Err("give --epsilon to find noise, or --noise-multiplier to find \
                                what it costs"
                        .into());
                }
                (Some(_), Some(_), Some(_), Some(_)) => {
                    return Err("nothing is left to find: leave out one of --epsilon, --rounds, \
                                --rate and --noise-multiplier"
                        .into());
                }
            };
        let event = self.event(noise, rate, rounds);
        let bound = target.accountant.epsilon(&event, target.adjacency, delta);
        let bound = bound.map_err(|error| error.to_string())?;
        if epsilon.is_none() {
            target.epsilon = bound.epsilon;
        }
        Ok(Solution {
            node,
            found,
            noise_multiplier: noise,
            rate,
            rounds,
            target,
            spent: bound.epsilon,
            accountant: bound.accountant,
            theorem: bound.theorem,
        })
    }

    fn adjacency(&self) -> Adjacency {
        let usual = match self.sampling {
            Sampling::Poisson => Adjacency::AddRemove,
            Sampling::Fixed => Adjacency::Replace,
        };
        self.adjacency.map_or(usual, Adjacency::from)
    }

    fn event(&self, noise: Scale, rate: Probability, rounds: u64) -> Event {
        // Whole batches are no samples: their sensitivity is that of the adjacency in force.
        let about = match self.sampling {
            _ if rate.get() == 1.0 => self.adjacency(),
            Sampling::Poisson => Adjacency::AddRemove,
            Sampling::Fixed => Adjacency::Replace,
        };
        let sensitivity = Sensitivity::under_only(about, 1.0).expect("one is in range");
        let round = match self.mechanism {
            Mechanism::Gaussian => Event::gaussian(sensitivity, noise),
            Mechanism::Laplace => Event::Laplace(Laplace { sensitivity, scale: noise }),
        };
        let sampled = match self.sampling {
            _ if rate.get() == 1.0 => round,
            Sampling::Poisson => round.poisson_sampled(rate),
            Sampling::Fixed => round.fixed_size_sampled(rate),
        };
        sampled.repeated(rounds)
    }

    fn as_json(&self, solutions: &[Solution]) -> String {
        let value = |s: &Solution| {
            let mut value = json!({
                "found": s.found,
                "noise_multiplier": s.noise_multiplier.get(),
                "rate": s.rate.get(),
                "rounds": s.rounds,
                "epsilon": output::json_epsilon(s.target.epsilon),
                "epsilon_spent": output::json_epsilon(s.spent),
                "delta": s.target.delta.get(),
                "adjacency": s.target.adjacency,
                "sampling": sampling_name(self.sampling),
                "unit": "record",
                "observer": "everyone",
                "accountant": s.accountant,
                "theorem": s.theorem,
            });
            if let Some(node) = &s.node {
                value["node"] = json!(node);
            }
            value
        };
        match solutions {
            [only] if only.node.is_none() => output::json(&value(only)),
            many => {
                output::json(&json!({ "nodes": many.iter().map(value).collect::<Vec<Value>>() }))
            }
        }
    }

    fn as_text(&self, solutions: &[Solution]) -> String {
        if let [s] = solutions
            && s.node.is_none()
        {
            return output::facts(&[
                ("found", s.found.replace('_', " ")),
                ("noise multiplier", output::decimals_above(s.noise_multiplier.get(), 10)),
                ("rate", format!("{} ({})", s.rate, sampling_name(self.sampling))),
                ("rounds", s.rounds.to_string()),
                ("budget", format!("({}, {})", s.target.epsilon, s.target.delta)),
                ("epsilon spent", output::epsilon(s.spent)),
                ("adjacency", s.target.adjacency.to_string()),
                ("unit", "record".into()),
                ("observer", "everyone, all messages of the whole run".into()),
                ("accountant", s.accountant.to_string()),
                ("theorem", s.theorem.into()),
            ]);
        }
        let row = |s: &Solution| {
            vec![
                s.node.clone().unwrap_or_default(),
                format!("({}, {})", s.target.epsilon, s.target.delta),
                output::decimals_above(s.noise_multiplier.get(), 9),
                output::epsilon(s.spent),
                s.target.adjacency.to_string(),
                s.accountant.to_string(),
            ]
        };
        let header =
            ["node", "budget", "noise multiplier", "epsilon spent", "adjacency", "accountant"];
        output::table(&header, solutions.iter().map(row).collect())
    }
}

fn sampling_name(sampling: Sampling) -> &'static str {
    match sampling {
        Sampling::Poisson => "poisson",
        Sampling::Fixed => "fixed",
    }
}
