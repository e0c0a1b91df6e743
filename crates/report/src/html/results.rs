//! Tables of results.

use serde_json::Value;

use super::{datum, table};
use crate::compare::differing;
use crate::numbers::{bytes, number, rough, short_above};
use crate::report::{Report, Spread, Variant};
use crate::svg::escape;

/// More rows than this are left to `report.json`.
const MOST_NODES: usize = 200;

impl Report {
    pub(super) fn results_table(&self) -> String {
        let metrics: Vec<_> = self.metrics.iter().filter(|metric| !metric.fairness).collect();
        let claims = self.variants.iter().any(|variant| variant.claim.is_some());
        let mut header: Vec<String> = vec!["variant".into()];
        header.extend(metrics.iter().map(|metric| metric.name.clone()));
        header.push("ε, at most".into());
        if claims {
            header.push("ε, claimed".into());
        }
        header.extend(["rounds", "messages", "bytes"].map(String::from));
        let row = |variant: &Variant| {
            let mut row = vec![escape(self.title_of(variant))];
            row.extend(metrics.iter().map(|m| spread(variant.metrics.get(&m.name))));
            row.push(epsilon(variant.epsilon));
            if claims {
                let claim = variant.claim.as_ref();
                row.push(claim.map_or("–".into(), |c| datum(c.epsilon, &number(c.epsilon))));
            }
            row.push(datum(variant.rounds, &number(variant.rounds)));
            row.push(datum(variant.messages, &number(variant.messages)));
            row.push(datum(variant.bytes, &bytes(variant.bytes)));
            row
        };
        let rows: Vec<_> = self.variants.iter().map(row).collect();
        let verdict = match (self.expected.len(), self.passed) {
            (0, _) => String::new(),
            (n, true) => {
                format!(
                    "<p><span class=\"good\">All {n} expectations of the plan hold.</span></p>\n"
                )
            }
            (n, false) => {
                let failed = self.expected.iter().filter(|verdict| !verdict.passed).count();
                format!(
                    "<p><a href=\"#expected\" class=\"bad\">{failed} of {n} expectations of the \
                     plan do not hold.</a></p>\n"
                )
            }
        };
        format!("{verdict}{}", table(&header, &rows, &[0]))
    }

    /// What makes variants of several plans differ; those of one plan have it in their names.
    pub(super) fn settings_table(&self) -> String {
        let keys = differing(&self.variants);
        if self.plans.len() < 2 || keys.is_empty() {
            return String::new();
        }
        let titles = self.variants.iter().map(|variant| self.title_of(variant).to_string());
        let header: Vec<String> = std::iter::once("setting".to_string()).chain(titles).collect();
        let row = |key: &String| {
            let value = |variant: &Variant| match variant.setup.get(key) {
                None => "–".into(),
                Some(Value::String(word)) => escape(word),
                Some(other) => escape(&other.to_string()),
            };
            let values = self.variants.iter().map(value);
            std::iter::once(escape(key)).chain(values).collect()
        };
        let rows: Vec<_> = keys.iter().map(row).collect();
        let words: Vec<usize> = (0..header.len()).collect();
        table(&header, &rows, &words)
    }

    pub(super) fn fairness_table(&self) -> String {
        let metrics: Vec<_> = self.metrics.iter().filter(|metric| metric.fairness).collect();
        if metrics.is_empty() {
            return String::new();
        }
        let header = std::iter::once("variant".to_string());
        let header: Vec<String> = header.chain(metrics.iter().map(|m| m.name.clone())).collect();
        let row = |variant: &Variant| {
            let mut row = vec![escape(self.title_of(variant))];
            row.extend(metrics.iter().map(|m| spread(variant.metrics.get(&m.name))));
            row
        };
        let rows: Vec<_> = self.variants.iter().map(row).collect();
        table(&header, &rows, &[0])
    }

    pub(super) fn expectations_table(&self) -> String {
        if self.expected.is_empty() {
            return String::new();
        }
        let header = ["expectation", "found", "expected", "verdict"].map(String::from);
        let row = |verdict: &crate::report::Verdict| {
            let why = verdict.why.as_ref();
            let why =
                why.map_or(String::new(), |why| format!("<br><small>{}</small>", escape(why)));
            let word = match verdict.passed {
                true => "<span class=\"good\">holds</span>",
                false => "<span class=\"bad\">fails</span>",
            };
            let found = verdict.found.map_or("no such round".into(), |v| datum(v, &number(v)));
            let what = escape(&verdict.what);
            vec![format!("{what}{why}"), found, escape(&verdict.limits()), word.into()]
        };
        let rows: Vec<_> = self.expected.iter().map(row).collect();
        table(&header, &rows, &[0, 2, 3])
    }

    /// Every node's budget, of networks that are not too large.
    pub(super) fn nodes_table(&self) -> String {
        let mut tables = String::new();
        for network in &self.networks {
            if network.shown.len() > MOST_NODES || self.networks.len() > 4 {
                continue;
            }
            let header = ["node", "budget ε", "ε, at most", "spent"].map(String::from);
            let row = |node: &crate::report::ShownNode| {
                vec![
                    format!("{}", node.node),
                    node.budget.map_or("–".into(), |e| datum(e, &short_above(e))),
                    epsilon(node.epsilon),
                    format!("{:.1} %", 100.0 * node.spent),
                ]
            };
            let rows: Vec<_> = network.shown.iter().map(row).collect();
            let whose = match (self.networks.len(), network.variants.first()) {
                (n, Some(first)) if n > 1 => {
                    let title = self.variants.get(*first).map(|v| self.title_of(v));
                    format!(" of {}", escape(title.unwrap_or_default()))
                }
                _ => String::new(),
            };
            tables.push_str(&format!(
                "<details><summary>Every node{whose}</summary>\n{}</details>\n",
                table(&header, &rows, &[])
            ));
        }
        tables
    }
}

/// An epsilon, rounded up, or that there is none.
pub(super) fn epsilon(epsilon: Option<f64>) -> String {
    match epsilon {
        Some(epsilon) => datum(epsilon, &short_above(epsilon)),
        None => "<span class=\"bad\">no guarantee</span>".into(),
    }
}

fn spread(spread: Option<&Spread>) -> String {
    let Some(s) = spread else { return "–".into() };
    let mean = datum(s.mean, &number(s.mean));
    if s.least == s.most {
        return mean;
    }
    let deviation = s.deviation.map_or(String::new(), |d| format!(" ({})", rough(d)));
    format!("{mean}{deviation}<br><small>{} to {}</small>", number(s.least), number(s.most))
}
