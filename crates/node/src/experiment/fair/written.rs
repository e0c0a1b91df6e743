//! `[model]` of a fair classifier.

use serde::Deserialize;
use serde_json::Value;
use undertone_model::fair::{Coefficients, Norm, Statistics};

use crate::plan::{Plan, PlanError};

/// As in a plan.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Written {
    #[serde(rename = "kind")]
    _kind: String,
    pub(super) method: Method,
    /// Whether coefficients are as paper 000 prints them.
    #[serde(default)]
    pub(super) printed: bool,
    /// The weight of unfairness; one if not given.
    alpha: Option<f64>,
    /// What the mean covariance of group and score is to be.
    #[serde(default)]
    pub(super) tau: f64,
    /// Added to the mean curvature; chosen by the noise if not given.
    ridge: Option<f64>,
    /// Whether features may be negative.
    #[serde(default)]
    signed: bool,
    /// Columns of an attribute that has more noise than others,
    #[serde(default)]
    pub(super) special: Vec<usize>,
    /// and how many times more.
    #[serde(default = "one")]
    pub(super) special_noise: f64,
}

/// The algorithms of paper 000, chapter 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Method {
    /// Gaussian noise and fairness.
    Adfc,
    /// Laplace noise.
    Fm,
    /// Laplace noise and fairness.
    Pdfc,
    /// Laplace noise and a shift.
    Pflr,
    /// Gaussian noise.
    Rfm,
}

/// Of the standard deviation of an eigenvalue's noise, which is about `sqrt(d)` times that of an
/// entry.
const RIDGE: f64 = 1.0;
/// Where there is no noise, against directions that no record has.
const LEAST_RIDGE: f64 = 1e-6;

impl Written {
    pub(super) fn read(plan: &Plan) -> Result<Self, PlanError> {
        let table = plan.model.clone().unwrap_or_default();
        let written: Self = serde_json::from_value(Value::Object(table))
            .map_err(|error| PlanError::new("model", error.to_string()))?;
        let error = |key: &str, message: &str| Err(PlanError::new(key, message));
        let size = |value: f64| value >= 0.0 && value.is_finite();
        if !written.alpha.is_none_or(size) {
            return error("model.alpha", "is a weight, at least 0 and finite");
        }
        if !written.ridge.is_none_or(size) {
            return error("model.ridge", "must be at least 0 and finite");
        }
        if !written.tau.is_finite() {
            return error("model.tau", "must be finite");
        }
        if !(written.special_noise >= 1.0 && written.special_noise.is_finite()) {
            return error("model.special-noise", "must be at least 1: times the other noise");
        }
        if written.alpha.is_some() && !written.has_weight() {
            let message = "is for adfc and pdfc (not as printed) and pflr; leave it out";
            return error("model.alpha", message);
        }
        Ok(written)
    }

    pub(super) fn statistics(&self, features: usize) -> Result<Statistics, PlanError> {
        let fair = matches!(self.method, Method::Adfc | Method::Pdfc);
        let coefficients = match (self.method, self.printed) {
            (Method::Fm | Method::Rfm, _) => Coefficients::Plain,
            (Method::Pflr, _) => Coefficients::Shifted { weight: self.alpha() },
            (Method::Adfc | Method::Pdfc, true) => Coefficients::Printed,
            (Method::Adfc | Method::Pdfc, false) => Coefficients::Covariance,
        };
        let norm = match self.method {
            Method::Adfc | Method::Rfm => Norm::L2,
            Method::Fm | Method::Pdfc | Method::Pflr => Norm::L1,
        };
        let mut statistics = Statistics::new(features, coefficients, norm);
        if self.signed {
            statistics = statistics.signed();
        }
        if self.printed {
            statistics = statistics.unweighted();
        }
        if self.special.is_empty() {
            return Ok(statistics);
        }
        let error = |message: String| Err(PlanError::new("model.special", message));
        match self.special.iter().find(|column| **column >= features) {
            Some(column) => error(format!("there is no column {column} of {features}, from 0")),
            None if !fair => error("is for adfc and pdfc; leave it out".into()),
            None => Ok(statistics.with_special(self.special.clone(), self.special_noise)),
        }
    }

    /// The weight of unfairness.
    pub(super) fn alpha(&self) -> f64 {
        if self.has_weight() { self.alpha.unwrap_or(1.0) } else { 0.0 }
    }

    /// Given the noise of an entry of the mean curvature.
    pub(super) fn ridge(&self, deviation: f64, features: usize) -> f64 {
        let chosen = RIDGE * deviation * (features as f64).sqrt();
        self.ridge.unwrap_or(chosen.max(LEAST_RIDGE))
    }

    fn has_weight(&self) -> bool {
        match self.method {
            Method::Adfc | Method::Pdfc => !self.printed,
            Method::Pflr => true,
            Method::Fm | Method::Rfm => false,
        }
    }
}

fn one() -> f64 {
    1.0
}
