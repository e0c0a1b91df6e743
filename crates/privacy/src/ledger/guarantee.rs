//! What a ledger promises, complete.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Budget, Filter, Header};
use crate::accountant::{Accountant, Bound};
use crate::units::{Adjacency, Delta, Epsilon, Observer, Unit};

/// A privacy statement with everything that it needs to be one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guarantee {
    /// Whose data.
    pub node: u32,
    /// Upper bound for the whole run, whenever it stops.
    #[serde(with = "super::budget::or_infinite")]
    pub epsilon: Epsilon,
    /// The delta it holds at.
    pub delta: Delta,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
    /// What is hidden.
    pub unit: Unit,
    /// Who looks.
    pub observer: Observer,
    /// Who computed it.
    pub accountant: Accountant,
    /// Why it is true.
    pub theorem: String,
    /// What was allowed.
    pub budget: Budget,
    /// How many debits were made.
    pub debits: u64,
    /// The share of the budget (or of the plan) that is spent.
    pub spent: f64,
}

impl Guarantee {
    pub(super) fn new(header: &Header, plan: Option<&Bound>, debits: u64, spent: f64) -> Self {
        let accountant = match header.filter {
            Filter::Gaussian { .. } | Filter::Pure => Accountant::Gdp,
            _ => plan.map_or(Accountant::Rdp, |price| price.accountant),
        };
        let theorem = match plan {
            Some(price) => format!("{}; {}", header.filter.theorem(), price.theorem),
            None => header.filter.theorem().into(),
        };
        Self {
            node: header.node,
            epsilon: plan.map_or(header.budget.epsilon, |price| price.epsilon),
            delta: header.budget.delta,
            adjacency: header.adjacency,
            unit: header.unit,
            observer: Observer::Everyone,
            accountant,
            theorem,
            budget: header.budget,
            debits,
            spent,
        }
    }
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            Unit::Node => "the whole data of the node",
            Unit::Record => "one record",
        };
        write!(
            f,
            "node {}: ({}, {})-differentially private for {unit}, {} adjacency, whoever sees every \
             message; budget ({}, {}), {:.1}% spent in {} debits; {} accountant, by {}",
            self.node,
            self.epsilon,
            self.delta,
            self.adjacency,
            self.budget.epsilon,
            self.budget.delta,
            100.0 * self.spent,
            self.debits,
            self.accountant,
            self.theorem,
        )
    }
}
