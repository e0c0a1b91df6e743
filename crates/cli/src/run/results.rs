//! Results as text and files.

mod build;
mod network;

use std::path::Path;

use undertone_privacy::ledger::Guarantee;
use undertone_report::{Promise, Report, SIMULATED, Spread, Variant, markdown, number};

use crate::output;
use crate::pictures::write_charts;
use crate::run::shelf::whole;

pub use build::Results;

/// For people.
pub fn text(report: &Report) -> String {
    let (header, rows) = table(report);
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut text = format!("{}\n", output::table(&header, rows));
    // Most variants promise the same; each statement is printed once.
    let mut statements: Vec<(String, Vec<&str>)> = Vec::new();
    for variant in &report.variants {
        for statement in variant.guarantees.iter().map(statement) {
            match statements.iter_mut().find(|(known, _)| *known == statement) {
                Some((_, labels)) => labels.push(&variant.label),
                None => statements.push((statement, vec![&variant.label])),
            }
        }
    }
    for (statement, labels) in statements {
        let which = match labels.len() {
            n if n == report.variants.len() => String::new(),
            n if n > 3 => format!("{} and {} more: ", labels[0], n - 1),
            _ => format!("{}: ", labels.join(", ")),
        };
        text.push_str(&format!("\n{which}{statement}\n"));
    }
    if report.variants.iter().any(|variant| variant.epsilon.is_some()) {
        text.push_str(&format!("\n{SIMULATED}\n"));
    }
    for variant in &report.variants {
        let label = match variant.label.as_str() {
            "" => String::new(),
            label => format!("{label}: "),
        };
        for note in &variant.notes {
            text.push_str(&format!("\n{label}{note}\n"));
        }
    }
    for what in &report.taken_for_public {
        text.push_str(&format!("\nfrom the data, so taken for public: {what}\n"));
    }
    // What holds is in the report; what does not is to be seen.
    for verdict in report.expected.iter().filter(|verdict| !verdict.passed) {
        text.push_str(&format!("\n{}", verdict.sentence()));
    }
    if !report.expected.is_empty() {
        let passed = report.expected.iter().filter(|verdict| verdict.passed).count();
        text.push_str(&format!("\n{passed} of {} expectations hold\n", report.expected.len()));
    }
    text
}

/// The plan as written, the report and its charts into a folder. Traces and models are there
/// already: each was written when its run was over.
pub fn write(folder: &Path, report: &Report) -> Result<(), String> {
    let put = |name: &str, bytes: &[u8]| whole(&folder.join(name), bytes);
    for plan in &report.plans {
        put("plan.toml", plan.text.as_bytes())?;
    }
    let (header, rows) = table(report);
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let verdicts = report.expected.iter().map(|verdict| format!("- {}\n", verdict.sentence()));
    let public = report.taken_for_public.iter().map(|what| format!("- taken for public: {what}\n"));
    let lines: String = verdicts.chain(public).collect();
    let page = format!("# {}\n\n{}\n{lines}", report.name, markdown(&header, &rows));
    put("summary.md", page.as_bytes())?;
    put("report.json", format!("{}\n", report.to_json()).as_bytes())?;
    put("report.html", report.to_html().as_bytes())?;
    write_charts(folder, report)
}

fn table(report: &Report) -> (Vec<String>, Vec<Vec<String>>) {
    let mut header = vec!["variant".to_string(), "rounds".into()];
    header.extend(report.metrics.iter().map(|metric| metric.name.clone()));
    header.extend(["messages", "bytes", "epsilon", "claimed"].map(String::from));
    let row = |variant: &Variant| {
        let mut row = vec![report.title_of(variant).to_string(), number(variant.rounds)];
        let last = |name: &str| variant.metrics.get(name).map_or("-".into(), Spread::to_string);
        row.extend(report.metrics.iter().map(|metric| last(&metric.name)));
        row.push(number(variant.messages));
        row.push(number(variant.bytes));
        row.push(output::bound(variant.epsilon));
        row.push(variant.claim.as_ref().map_or("-".into(), |claim| number(claim.epsilon)));
        row
    };
    (header, report.variants.iter().map(row).collect())
}

/// A promise in a sentence.
fn statement(promise: &Promise) -> String {
    let Promise { nodes, guarantee, claim } = promise;
    let claimed = claim.as_ref().map_or(String::new(), |claim| {
        let (epsilon, delta) = (number(claim.epsilon), number(claim.delta));
        format!("; {} claims ({epsilon}, {delta}) for this noise", claim.source)
    });
    if guarantee.epsilon.get().is_infinite() {
        return format!("no guarantee: something leaves {nodes} without noise{claimed}");
    }
    format!("{nodes}{}{claimed}", after_name(guarantee))
}

/// The statement of a guarantee without the name of its node.
fn after_name(guarantee: &Guarantee) -> String {
    let text = guarantee.to_string();
    let start = format!("node {}", guarantee.node);
    text.strip_prefix(&start).unwrap_or(&text).to_string()
}
