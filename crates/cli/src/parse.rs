//! Flag values as units, with errors that say what was expected.

use std::io::Read;

use clap::ValueEnum;
use serde_json::Value;
use undertone_privacy::accountant::Accountant;
use undertone_privacy::event::{Event, from_dp_event};
use undertone_privacy::units::{Adjacency, Delta, Epsilon, OutOfRange, Probability, Scale};

/// `--accountant`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum AccountantFlag {
    Best,
    Gdp,
    Rdp,
    Pld,
    Zcdp,
}

impl From<AccountantFlag> for Accountant {
    fn from(flag: AccountantFlag) -> Self {
        match flag {
            AccountantFlag::Best => Accountant::Best,
            AccountantFlag::Gdp => Accountant::Gdp,
            AccountantFlag::Rdp => Accountant::Rdp,
            AccountantFlag::Pld => Accountant::Pld,
            AccountantFlag::Zcdp => Accountant::Zcdp,
        }
    }
}

/// `--adjacency`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum AdjacencyFlag {
    AddRemove,
    Replace,
}

impl From<AdjacencyFlag> for Adjacency {
    fn from(flag: AdjacencyFlag) -> Self {
        match flag {
            AdjacencyFlag::AddRemove => Adjacency::AddRemove,
            AdjacencyFlag::Replace => Adjacency::Replace,
        }
    }
}

/// A positive noise multiplier or scale.
pub fn scale(text: &str) -> Result<Scale, String> {
    number(text).and_then(|value| unit(Scale::new(value)))
}

/// A probability.
pub fn probability(text: &str) -> Result<Probability, String> {
    number(text).and_then(|value| unit(Probability::new(value)))
}

/// A delta below one: at one nothing is protected.
pub fn delta(text: &str) -> Result<Delta, String> {
    let delta = number(text).and_then(|value| unit(Delta::new(value)))?;
    if delta.get() >= 1.0 {
        return Err("delta must be below 1; take less than one over the number of records".into());
    }
    Ok(delta)
}

/// A positive epsilon.
pub fn epsilon(text: &str) -> Result<Epsilon, String> {
    let epsilon = number(text).and_then(|value| unit(Epsilon::new(value)))?;
    if epsilon.get() == 0.0 {
        return Err("epsilon must be above 0; only an unused budget costs nothing".into());
    }
    Ok(epsilon)
}

/// A count, also as 1e6.
pub fn count(text: &str) -> Result<u64, String> {
    if let Ok(count) = text.parse::<u64>() {
        return positive(count);
    }
    let value = number(text)?;
    if value.fract() != 0.0 || !(1.0..=1e18).contains(&value) {
        return Err(format!("expected a whole number from 1 to 1e18, got {text}"));
    }
    positive(value as u64)
}

fn positive(count: u64) -> Result<u64, String> {
    if count == 0 { Err("expected at least 1".into()) } else { Ok(count) }
}

/// `Q,Z`.
pub fn rate_and_noise(text: &str) -> Result<(Probability, Scale), String> {
    let (rate, noise) = text.split_once(',').ok_or_else(|| {
        format!("expected a sampling rate and a noise multiplier, as 0.01,1.2, got {text}")
    })?;
    Ok((probability(rate)?, scale(noise)?))
}

/// `NAME=EPSILON,DELTA`.
pub fn node_budget(text: &str) -> Result<(String, Epsilon, Delta), String> {
    let expected = || format!("expected NAME=EPSILON,DELTA, as clinic=1,1e-5, got {text}");
    let (name, budget) = text.split_once('=').ok_or_else(expected)?;
    let (e, d) = budget.split_once(',').ok_or_else(expected)?;
    Ok((name.to_string(), epsilon(e)?, delta(d)?))
}

/// An event given as JSON, as a file or as `-`; ours or dp_accounting's.
pub fn event(source: &str, adjacency: Adjacency) -> Result<Event, String> {
    let inline = source.trim_start().starts_with(['{', '"', '[']);
    let (place, text) = if inline {
        ("--event".to_string(), source.to_string())
    } else {
        (source.to_string(), read(source)?)
    };
    let value: Value = serde_json::from_str(&text).map_err(|error| {
        format!("{place}: line {}, column {}: {error}", error.line(), error.column())
    })?;
    if value.get("class_name").is_some() {
        return from_dp_event(&value, adjacency).map_err(|error| format!("{place}: {error}"));
    }
    serde_json::from_value(value).map_err(|error| format!("{place}: {error}"))
}

fn read(source: &str) -> Result<String, String> {
    let mut text = String::new();
    let read = if source == "-" {
        std::io::stdin().read_to_string(&mut text)
    } else {
        std::fs::File::open(source).and_then(|mut file| file.read_to_string(&mut text))
    };
    read.map_err(|error| {
        format!("{source}: {error}; --event takes JSON, the name of a file that holds it, or -")
    })?;
    Ok(text)
}

fn number(text: &str) -> Result<f64, String> {
    let text = text.trim();
    text.parse().map_err(|_| format!("expected a number, got {text:?}"))
}

fn unit<T>(value: Result<T, OutOfRange>) -> Result<T, String> {
    value.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_in_either_notation() {
        assert_eq!(count("1000"), Ok(1000));
        assert_eq!(count("1e9"), Ok(1_000_000_000));
        for wrong in ["0", "1.5", "-3", "1e30", "many"] {
            assert!(count(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn pairs_and_budgets_name_what_is_missing() {
        assert!(rate_and_noise("0.01").unwrap_err().contains("0.01,1.2"));
        assert!(rate_and_noise("2,1").unwrap_err().contains("probability must be between 0 and 1"));
        assert!(node_budget("a=1").unwrap_err().contains("NAME=EPSILON,DELTA"));
        let (name, epsilon, delta) = node_budget("a=1,1e-5").unwrap();
        assert_eq!((name.as_str(), epsilon.get(), delta.get()), ("a", 1.0, 1e-5));
    }

    #[test]
    fn events_come_in_both_dialects() {
        let add_remove = Adjacency::AddRemove;
        let ours = r#"{"gaussian":{"sensitivity":{"add_remove":1.0},"sigma":1.1}}"#;
        let theirs = r#"{"class_name":"GaussianDpEvent","noise_multiplier":1.1}"#;
        assert_eq!(event(ours, add_remove), event(theirs, add_remove));
        assert!(event("{", add_remove).unwrap_err().contains("line 1, column"));
        assert!(event(r#"{"gausian":1}"#, add_remove).unwrap_err().contains("unknown variant"));
        assert!(event("no-such-file.json", add_remove).unwrap_err().contains("no-such-file.json"));
    }
}
