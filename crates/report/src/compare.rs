//! Several runs side by side.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;
use undertone_privacy::ledger::Guarantee;
use undertone_privacy::units::Observer;

use crate::report::{Metric, Network, Report, SCHEMA, Spread, Variant};

/// What there is to say about several runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Why results should not be compared without a second thought.
    pub warnings: Vec<String>,
    /// What was measured in any of them.
    pub metrics: Vec<String>,
    /// Keys of plans that have more than one value.
    pub differing: Vec<String>,
    /// All variants of all runs.
    pub rows: Vec<Row>,
    /// One report of all of them.
    #[serde(skip)]
    pub report: Report,
}

/// One variant of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The name of the run, and of the variant if there are several.
    pub name: String,
    /// The last values of what was measured; what was not is missing.
    pub metrics: BTreeMap<String, Spread>,
    /// The weakest promise: an upper bound; null if there is no guarantee.
    pub epsilon: Option<f64>,
    /// What the paper claims.
    pub claimed: Option<f64>,
    /// Bytes sent.
    pub bytes: f64,
    /// Rounds run.
    pub rounds: f64,
    /// The values of the keys that differ; null where a plan does not have the key.
    pub settings: BTreeMap<String, Value>,
}

/// Puts runs side by side and says what is not alike.
pub fn compare(reports: &[Report]) -> Comparison {
    let report = together(reports);
    let differing = differing(&report.variants);
    let row = |variant: &Variant| Row {
        name: variant.label.clone(),
        metrics: variant.metrics.clone(),
        epsilon: variant.epsilon,
        claimed: variant.claim.as_ref().map(|claim| claim.epsilon),
        bytes: variant.bytes,
        rounds: variant.rounds,
        settings: differing
            .iter()
            .map(|key| (key.clone(), variant.setup.get(key).cloned().unwrap_or(Value::Null)))
            .collect(),
    };
    Comparison {
        warnings: report.warnings.clone(),
        metrics: report.metrics.iter().map(|metric| metric.name.clone()).collect(),
        rows: report.variants.iter().map(row).collect(),
        differing,
        report,
    }
}

/// All variants of all reports as one.
fn together(reports: &[Report]) -> Report {
    let names = names(reports);
    let mut all = Report {
        schema: SCHEMA,
        name: names.join(", "),
        versions: BTreeMap::new(),
        plans: Vec::new(),
        taken_for_public: Vec::new(),
        warnings: Vec::new(),
        metrics: Vec::new(),
        varied: Vec::new(),
        variants: Vec::new(),
        networks: Vec::new(),
        chart: None,
        expected: Vec::new(),
        passed: reports.iter().all(|report| report.passed),
    };
    for (report, name) in reports.iter().zip(&names) {
        let first = all.variants.len();
        all.versions.extend(report.versions.clone());
        all.plans.extend(report.plans.iter().cloned());
        let public = report.taken_for_public.iter().map(|what| format!("{name}: {what}"));
        all.taken_for_public.extend(public);
        for metric in &report.metrics {
            if !all.metrics.iter().any(|known: &Metric| known.name == metric.name) {
                all.metrics.push(metric.clone());
            }
        }
        for variant in &report.variants {
            let label = match variant.label.as_str() {
                "" => name.clone(),
                label => format!("{name}: {label}"),
            };
            all.variants.push(Variant { label, ..variant.clone() });
        }
        for network in &report.networks {
            let variants = network.variants.iter().map(|k| first + k).collect();
            all.networks.push(Network { variants, ..network.clone() });
        }
        for verdict in &report.expected {
            let mut verdict = verdict.clone();
            verdict.what = format!("{name}: {}", verdict.what);
            all.expected.push(verdict);
        }
    }
    all.warnings = reports.iter().flat_map(|report| report.warnings.clone()).collect();
    all.warnings.extend(warnings(reports, &all.variants));
    all
}

/// Names of runs, told apart by numbers if they are the same.
fn names(reports: &[Report]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(reports.len());
    for report in reports {
        let taken = |name: &String| names.contains(name);
        let numbered = (2..).map(|k| format!("{} #{k}", report.name));
        let mut candidates = std::iter::once(report.name.clone()).chain(numbered);
        let free = candidates.find(|name| !taken(name));
        names.push(free.expect("there are enough numbers"));
    }
    names
}

/// The keys of plans that have more than one value.
pub(crate) fn differing(variants: &[Variant]) -> Vec<String> {
    let keys: BTreeSet<&String> = variants.iter().flat_map(|v| v.setup.keys()).collect();
    let differs = |key: &&String| {
        let mut values = variants.iter().map(|variant| variant.setup.get(*key));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    keys.into_iter().filter(differs).cloned().collect()
}

fn warnings(reports: &[Report], variants: &[Variant]) -> Vec<String> {
    let mut warnings = Vec::new();
    let promises = || {
        let finite = |g: &&Guarantee| g.epsilon.get().is_finite();
        variants.iter().flat_map(|v| &v.guarantees).map(|p| &p.guarantee).filter(finite)
    };
    let mut terms = |what: &str, of: &dyn Fn(&Guarantee) -> String| {
        let words: BTreeSet<String> = promises().map(of).collect();
        if words.len() > 1 {
            let words: Vec<String> = words.into_iter().collect();
            warnings.push(format!(
                "guarantees are not comparable: they have {what} ({}), and an epsilon means \
                 something else for each",
                words.join(", ")
            ));
        }
    };
    terms("different deltas", &|g| format!("{:e}", g.delta.get()));
    terms("different adjacencies", &|g| g.adjacency.to_string());
    terms("different units", &|g| format!("{:?}", g.unit).to_lowercase());
    terms("different observers", &|g| observer(g.observer).into());
    let bare = variants.iter().filter(|variant| variant.epsilon.is_none()).count();
    if bare > 0 && bare < variants.len() {
        let what = if bare == 1 { "one variant has" } else { "some variants have" };
        warnings.push(format!("{what} no guarantee at all, and others have one"));
    }
    let data: BTreeSet<String> = reports
        .iter()
        .flat_map(|report| &report.variants)
        .map(|variant| {
            let data = variant.setup.iter().filter(|(key, _)| key.starts_with("data"));
            data.map(|(key, value)| format!("{key}={value} ")).collect()
        })
        .collect();
    if data.len() > 1 {
        warnings.push("results are not of the same data".into());
    }
    let versions: BTreeSet<_> = reports.iter().map(|report| &report.versions).collect();
    if versions.len() > 1 {
        warnings.push("results are of different versions of the program".into());
    }
    warnings
}

fn observer(observer: Observer) -> &'static str {
    match observer {
        Observer::Coalition => "a coalition",
        Observer::Everyone => "everyone",
        Observer::Neighbour => "a neighbour",
    }
}
