//! Results as text, JSON, traces and a chart.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use undertone_node::plan::{ChartPlan, Plan};
use undertone_privacy::ledger::Guarantee;
use undertone_report::{Chart, Series, markdown};
use undertone_sim::{Outcome, Point, Verdict};

use crate::output;

/// All that came of a plan.
pub struct Results<'a> {
    pub plan: &'a Plan,
    pub outcomes: &'a [Outcome],
    pub verdicts: &'a [Verdict],
    /// What was taken from the data and not declared: guarantees hold if it is public.
    pub assumptions: &'a [String],
}

impl Results<'_> {
    /// For people.
    pub fn text(&self) -> String {
        let (header, rows) = self.table();
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let mut text = format!("{}\n", output::table(&header, rows));
        // Most variants promise the same; each statement is printed once.
        let mut statements: Vec<(String, Vec<String>)> = Vec::new();
        for outcome in self.outcomes {
            for statement in statements_of(outcome) {
                let label = outcome.variant.label();
                match statements.iter_mut().find(|(known, _)| *known == statement) {
                    Some((_, labels)) => labels.push(label),
                    None => statements.push((statement, vec![label])),
                }
            }
        }
        for (statement, labels) in statements {
            let which = match labels.len() {
                n if n == self.outcomes.len() => String::new(),
                n if n > 3 => format!("{} and {} more: ", labels[0], n - 1),
                _ => format!("{}: ", labels.join(", ")),
            };
            text.push_str(&format!("\n{which}{statement}\n"));
        }
        for outcome in self.outcomes {
            let label = outcome.variant.label();
            let label = if label.is_empty() { label } else { format!("{label}: ") };
            for note in notes(outcome) {
                text.push_str(&format!("\n{label}{note}\n"));
            }
        }
        for what in self.assumptions {
            text.push_str(&format!("\nfrom the data, so taken for public: {what}\n"));
        }
        // What holds is in the summary; what does not is to be seen.
        for verdict in self.verdicts.iter().filter(|verdict| !verdict.passed) {
            text.push_str(&format!("\n{}", self.judgement(verdict)));
        }
        if !self.verdicts.is_empty() {
            let passed = self.verdicts.iter().filter(|verdict| verdict.passed).count();
            text.push_str(&format!("\n{passed} of {} expectations hold\n", self.verdicts.len()));
        }
        text
    }

    /// For programs.
    pub fn summary(&self) -> Value {
        let variant = |outcome: &Outcome| {
            let last = outcome.runs.first().and_then(|traced| traced.run.points.last());
            let metrics: BTreeMap<_, _> = last
                .iter()
                .flat_map(|point| point.metrics.keys())
                .map(|name| (name.clone(), outcome.last(name)))
                .collect();
            let points: Vec<Value> = outcome
                .points()
                .iter()
                .map(|point| {
                    let Point { round, time, metrics } = point;
                    json!({"round": round, "time": time, "metrics": metrics})
                })
                .collect();
            json!({
                "label": outcome.variant.label(),
                "settings": settings(outcome),
                "rounds": outcome.rounds(),
                "metrics": metrics,
                "messages": outcome.messages(),
                "bytes": outcome.bytes(),
                "epsilon": outcome.weakest().map(|g| output::json_epsilon(g.epsilon)),
                "claim": claim(outcome),
                "guarantees": groups(outcome).iter().map(|(_, g)| json!(g)).collect::<Vec<_>>(),
                "stopped": outcome.runs.first().map(|traced| &traced.run.stopped),
                "notes": notes(outcome).collect::<Vec<_>>(),
                "traces": outcome.runs.iter().map(|traced| &traced.hash).collect::<Vec<_>>(),
                "points": points,
            })
        };
        let verdict = |verdict: &Verdict| {
            let band = &self.plan.expected[verdict.index];
            json!({
                "what": verdict.what,
                "why": band.why,
                "found": verdict.found,
                "min": band.min,
                "max": band.max,
                "passed": verdict.passed,
            })
        };
        json!({
            "name": self.plan.name,
            "taken_for_public": self.assumptions,
            "variants": self.outcomes.iter().map(variant).collect::<Vec<_>>(),
            "expected": self.verdicts.iter().map(verdict).collect::<Vec<_>>(),
            "passed": self.verdicts.iter().all(|verdict| verdict.passed),
        })
    }

    /// The plan as written, summary and chart into a folder.
    pub fn write(&self, folder: &Path, plan: &str) -> Result<(), String> {
        std::fs::create_dir_all(folder)
            .map_err(|e| format!("{}: {e}; choose another --out", folder.display()))?;
        let write = |name: String, bytes: &[u8]| super::shelf::whole(&folder.join(name), bytes);
        // Traces and models are there already: each was written when its run was over.
        write("plan.toml".into(), plan.as_bytes())?;
        let (header, rows) = self.table();
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let lines: String = self
            .verdicts
            .iter()
            .map(|verdict| format!("- {}\n", self.judgement(verdict)))
            .chain(self.assumptions.iter().map(|what| format!("- taken for public: {what}\n")))
            .collect();
        let page = format!("# {}\n\n{}\n{lines}", self.plan.name, markdown(&header, &rows));
        write("summary.md".into(), page.as_bytes())?;
        write("summary.json".into(), format!("{}\n", output::json(&self.summary())).as_bytes())?;
        write("chart.svg".into(), self.chart().to_svg().as_bytes())
    }

    fn table(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let metrics: Vec<_> = self.plan.evaluate.metrics.iter().map(|m| m.name()).collect();
        let mut header = vec!["variant".to_string(), "rounds".into()];
        header.extend(metrics.iter().map(|metric| metric.to_string()));
        header.extend(["messages", "bytes", "epsilon", "claimed"].map(String::from));
        let row = |outcome: &Outcome| {
            let label = outcome.variant.label();
            let label = if label.is_empty() { self.plan.name.clone() } else { label };
            let mut row = vec![label, number(outcome.rounds())];
            let last = |metric: &&str| outcome.last(metric).map_or("-".into(), number);
            row.extend(metrics.iter().map(last));
            row.push(number(outcome.messages()));
            row.push(number(outcome.bytes()));
            row.push(outcome.weakest().map_or("-".into(), |g| output::epsilon(g.epsilon)));
            let claimed = claim(outcome).and_then(|claim| claim["epsilon"].as_f64());
            row.push(claimed.map_or("-".into(), number));
            row
        };
        (header, self.outcomes.iter().map(row).collect())
    }

    fn judgement(&self, verdict: &Verdict) -> String {
        let band = &self.plan.expected[verdict.index];
        let word = if verdict.passed { "PASS" } else { "FAIL" };
        let found = verdict.found.map_or("no such round".into(), number);
        let limits = match (band.min, band.max) {
            (Some(min), Some(max)) => format!("between {min} and {max}"),
            (Some(min), None) => format!("at least {min}"),
            (None, Some(max)) => format!("at most {max}"),
            (None, None) => String::new(),
        };
        let why = band.why.as_ref().map_or(String::new(), |why| format!(" ({why})"));
        format!("{word} {}: {found}, expected {limits}{why}", verdict.what)
    }

    fn chart(&self) -> Chart {
        let usual = || ChartPlan {
            x: "round".into(),
            y: self.plan.evaluate.metrics[0].name().into(),
            log_x: false,
            log_y: true,
        };
        let ChartPlan { x, y, log_x, log_y } = self.plan.chart.clone().unwrap_or_else(usual);
        let mut series: Vec<Series> = Vec::new();
        for outcome in self.outcomes {
            if x == "round" || x == "time" {
                let points = outcome.points();
                let at = |p: &Point| {
                    let across = if x == "time" { p.time? } else { p.round as f64 };
                    Some((across, *p.metrics.get(&y)?))
                };
                let points = points.iter().filter_map(at).collect();
                series.push(Series { name: outcome.variant.label(), points });
                continue;
            }
            let value = if y == "rounds-run" { Some(outcome.rounds()) } else { outcome.last(&y) };
            let mut others = outcome.variant.clone();
            if let Some(metric) = outcome.last(&x) {
                // One metric over another: a line along the key that runs fastest.
                others.settings.pop();
                add(&mut series, others.label(), value.map(|value| (metric, value)));
                continue;
            }
            let place = others.settings.iter().position(|(key, _)| *key == x);
            let Some(at) = place.map(|k| others.settings.remove(k)).and_then(|s| s.1.as_f64())
            else {
                continue;
            };
            add(&mut series, others.label(), value.map(|value| (at, value)));
        }
        Chart { title: self.plan.name.clone(), x, y, log_x, log_y, series }
    }
}

/// Puts a point, if there is one, at the end of the series of that name.
fn add(series: &mut Vec<Series>, name: String, point: Option<(f64, f64)>) {
    match (point, series.iter_mut().find(|series| series.name == name)) {
        (None, _) => {}
        (Some(point), Some(series)) => series.points.push(point),
        (Some(point), None) => series.push(Series { name, points: vec![point] }),
    }
}

/// What there is to say of the first repetition.
fn notes(outcome: &Outcome) -> impl Iterator<Item = &String> {
    outcome.runs.iter().take(1).flat_map(|traced| &traced.run.notes)
}

fn settings(outcome: &Outcome) -> Value {
    let settings = outcome.variant.settings.iter().cloned();
    Value::Object(settings.collect())
}

/// The paper's claim for the node with the weakest promise.
fn claim(outcome: &Outcome) -> Option<Value> {
    let node = outcome.weakest()?.node;
    let claim = outcome.runs.first()?.run.claims[node as usize]?;
    Some(json!(claim))
}

/// Nodes with the same promise, by the first of them, and how many they are.
fn groups(outcome: &Outcome) -> Vec<(usize, &Guarantee)> {
    let mut groups: Vec<(usize, &Guarantee)> = Vec::new();
    for guarantee in outcome.runs.iter().take(1).flat_map(|traced| &traced.run.guarantees) {
        let same = |known: &&mut (usize, &Guarantee)| {
            (known.1.epsilon, known.1.delta) == (guarantee.epsilon, guarantee.delta)
        };
        match groups.iter_mut().find(same) {
            Some((count, _)) => *count += 1,
            None => groups.push((1, guarantee)),
        }
    }
    groups
}

fn statements_of(outcome: &Outcome) -> Vec<String> {
    let claimed = claim(outcome).map_or(String::new(), |claim| {
        let word = |key: &str| claim[key].as_f64().map_or("?".into(), number);
        let source = claim["source"].as_str().unwrap_or("the paper");
        format!("; {source} claims ({}, {}) for this noise", word("epsilon"), word("delta"))
    });
    let statement = |(count, guarantee): &(usize, &Guarantee)| {
        let others = if *count > 1 { format!(" and {} more", count - 1) } else { String::new() };
        if guarantee.epsilon.get().is_infinite() {
            return format!(
                "no guarantee: something leaves node {}{others} without noise{claimed}",
                guarantee.node
            );
        }
        let text = guarantee.to_string();
        let start = format!("node {}", guarantee.node);
        format!("{start}{others}{}{claimed}", text.strip_prefix(&start).unwrap_or(&text))
    };
    groups(outcome).iter().map(statement).collect()
}

fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        v if v.fract() == 0.0 && v < 1e12 => format!("{value}"),
        v if (1e-3..1e6).contains(&v) => {
            let places = (4 - v.log10().floor() as i32).max(0) as usize;
            let text = format!("{value:.places$}");
            let short = if text.contains('.') { text.trim_end_matches('0') } else { &text };
            short.trim_end_matches('.').into()
        }
        _ => format!("{value:.3e}"),
    }
}
