//! `undertone account`.

use clap::Args;
use serde_json::{Value, json};
use undertone_privacy::accountant::{Accountant, Bound};
use undertone_privacy::event::{Event, Laplace, to_dp_event};
use undertone_privacy::units::{Adjacency, Delta, Probability, Scale, Sensitivity};

use crate::output;
use crate::parse::{self, AccountantFlag, AdjacencyFlag};

/// Price events: an upper bound on epsilon at a given delta.
///
/// A noise multiplier Z is the noise's standard deviation over the sensitivity: for --gaussian and
/// --laplace under the adjacency in force, for --poisson-gaussian that of one record's presence,
/// for --fixed-gaussian that of replacing one record.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  undertone account --gaussian 3.73 --delta 1e-5
  undertone account --poisson-gaussian 0.02,12.4 --times 1000 --delta 1e-5 --accountant pld
  undertone account --fixed-gaussian 0.01,2 --times 500 --delta 1e-6 --json
  undertone account --event run.json --delta 1e-5 --curve"
)]
pub struct Account {
    #[command(flatten)]
    source: Source,
    /// How often it happens (whole number, 1e6 is fine)
    #[arg(long, default_value = "1", value_parser = parse::count, value_name = "T")]
    times: u64,
    /// The delta of the guarantee
    #[arg(long, value_parser = parse::delta, value_name = "D")]
    delta: Delta,
    /// Who computes: best asks all and takes the least
    #[arg(long, value_enum, default_value = "best")]
    accountant: AccountantFlag,
    /// Which data sets are neighbours [default: add-remove; replace for a fixed sample size]
    #[arg(long, value_enum)]
    adjacency: Option<AdjacencyFlag>,
    /// Also print epsilon over a range of deltas
    #[arg(long)]
    curve: bool,
    /// Print the event as dp_accounting writes it, and stop
    #[arg(long)]
    as_dp_event: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is priced.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct Source {
    /// An event as JSON, a file that holds one, or - for standard input; ours or dp_accounting's
    #[arg(long, value_name = "JSON|FILE")]
    event: Option<String>,
    /// Gaussian noise with noise multiplier Z
    #[arg(long, value_name = "Z", value_parser = parse::scale)]
    gaussian: Option<Scale>,
    /// Gaussian noise on a Poisson sample with rate Q
    #[arg(long, value_name = "Q,Z", value_parser = parse::rate_and_noise)]
    poisson_gaussian: Option<(Probability, Scale)>,
    /// Gaussian noise on a sample of fixed size, a share Q of all records
    #[arg(long, value_name = "Q,Z", value_parser = parse::rate_and_noise)]
    fixed_gaussian: Option<(Probability, Scale)>,
    /// Laplace noise of scale B over the L1 sensitivity
    #[arg(long, value_name = "B", value_parser = parse::scale)]
    laplace: Option<Scale>,
}

impl Account {
    pub fn run(self) -> Result<String, String> {
        let fixed = self.source.fixed_gaussian.is_some();
        let usual = if fixed { Adjacency::Replace } else { Adjacency::AddRemove };
        let adjacency = self.adjacency.map_or(usual, Adjacency::from);
        let event = self.source.read(adjacency)?.repeated(self.times);
        if self.as_dp_event {
            let value = to_dp_event(&event, adjacency).map_err(|error| error.to_string())?;
            return Ok(output::json(&value));
        }
        let accountant = Accountant::from(self.accountant);
        let price =
            |delta| accountant.epsilon(&event, adjacency, delta).map_err(|error| error.to_string());
        let bound = price(self.delta)?;
        let curve = if self.curve { curve(price)? } else { Vec::new() };
        Ok(if self.json { as_json(&event, &bound, &curve) } else { as_text(&bound, &curve) })
    }
}

impl Source {
    fn read(&self, adjacency: Adjacency) -> Result<Event, String> {
        let unit = |adjacency| Sensitivity::under_only(adjacency, 1.0).expect("one is in range");
        if let Some(source) = &self.event {
            return parse::event(source, adjacency);
        }
        if let Some(sigma) = self.gaussian {
            return Ok(Event::gaussian(unit(adjacency), sigma));
        }
        if let Some((rate, sigma)) = self.poisson_gaussian {
            return Ok(Event::gaussian(unit(Adjacency::AddRemove), sigma).poisson_sampled(rate));
        }
        if let Some((rate, sigma)) = self.fixed_gaussian {
            return Ok(Event::gaussian(unit(Adjacency::Replace), sigma).fixed_size_sampled(rate));
        }
        let scale = self.laplace.expect("clap requires one of the group");
        Ok(Event::Laplace(Laplace { sensitivity: unit(adjacency), scale }))
    }
}

fn curve(price: impl Fn(Delta) -> Result<Bound, String>) -> Result<Vec<Bound>, String> {
    let deltas = (1..=12).map(|k| Delta::new(10f64.powi(-k)).expect("below one"));
    deltas.map(price).collect()
}

fn as_json(event: &Event, bound: &Bound, curve: &[Bound]) -> String {
    let mut value = json!({
        "epsilon": output::json_epsilon(bound.epsilon),
        "epsilon_lower": bound.epsilon_lower.map(|e| e.get()),
        "delta": bound.delta.get(),
        "accountant": bound.accountant,
        "adjacency": bound.adjacency,
        "unit": "record",
        "observer": "everyone",
        "theorem": bound.theorem,
        "event": event,
    });
    if !curve.is_empty() {
        let point = |bound: &Bound| {
            json!({
                "delta": bound.delta.get(),
                "epsilon": output::json_epsilon(bound.epsilon),
                "epsilon_lower": bound.epsilon_lower.map(|e| e.get()),
                "accountant": bound.accountant,
            })
        };
        value["curve"] = Value::Array(curve.iter().map(point).collect());
    }
    output::json(&value)
}

fn as_text(bound: &Bound, curve: &[Bound]) -> String {
    let lower = bound.epsilon_lower.map_or_else(
        || "not certified by this accountant".to_string(),
        |lower| output::significant_below(lower.get()),
    );
    let mut text = output::facts(&[
        ("epsilon (upper)", output::epsilon(bound.epsilon)),
        ("epsilon (lower)", lower),
        ("delta", bound.delta.to_string()),
        ("adjacency", bound.adjacency.to_string()),
        ("unit", "record".into()),
        ("observer", "everyone, all messages of the whole run".into()),
        ("accountant", bound.accountant.to_string()),
        ("theorem", bound.theorem.into()),
    ]);
    if !curve.is_empty() {
        let row = |bound: &Bound| {
            let lower =
                bound.epsilon_lower.map_or("-".into(), |e| output::significant_below(e.get()));
            let delta = format!("{:e}", bound.delta.get());
            vec![delta, output::epsilon(bound.epsilon), lower, bound.accountant.to_string()]
        };
        let header = ["delta", "epsilon (upper)", "epsilon (lower)", "accountant"];
        text.push('\n');
        text.push_str(&output::table(&header, curve.iter().map(row).collect()));
    }
    text
}
