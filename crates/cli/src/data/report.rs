//! What `data inspect` prints.

use std::fmt::Write;

use serde_json::{Value, json};
use undertone_data::{Balance, Counts, Loaded, Looks, Summary};
use undertone_model::Dataset;
use undertone_model::partition::Partition;

use super::picture::{bar, skyline};
use crate::output;

/// Rows of a table of columns, classes or nodes; what is beyond is counted.
const MOST_ROWS: usize = 24;

/// Everything about a data set.
pub struct Report<'a> {
    summary: &'a Summary,
    notes: Vec<String>,
    train: Looks,
    test: Option<Looks>,
    nodes: Option<Vec<Balance>>,
    sizes: Vec<usize>,
}

/// The records of every node.
pub struct Dealt {
    sizes: Vec<usize>,
    balances: Vec<Balance>,
}

/// Deals records to nodes as the plan says, evenly if it does not say.
pub fn deal(
    data: &Dataset<f32>,
    split: Option<&Partition>,
    nodes: usize,
    seed: u64,
) -> Result<Dealt, String> {
    let parts = split.unwrap_or(&Partition::Even).split(data, nodes, seed);
    let parts = parts.map_err(|error| format!("data.split: {error}"))?;
    let balance = |records: &Vec<usize>| Balance::of(data.select(records).targets());
    Ok(Dealt {
        sizes: parts.iter().map(Vec::len).collect(),
        balances: parts.iter().map(balance).collect(),
    })
}

impl<'a> Report<'a> {
    pub fn new(loaded: &'a Loaded<f32>, notes: Vec<String>, dealt: Option<Dealt>) -> Self {
        let (sizes, nodes) = match dealt {
            Some(dealt) => (dealt.sizes, Some(dealt.balances)),
            None => (Vec::new(), None),
        };
        Self {
            summary: &loaded.summary,
            notes,
            train: Looks::of(&loaded.train),
            test: loaded.test.as_ref().map(Looks::of),
            nodes,
            sizes,
        }
    }

    pub fn as_json(&self) -> Value {
        let nodes = self.nodes.as_ref().map(|nodes| {
            let node = |(records, targets): (&usize, &Balance)| {
                json!({ "records": records, "targets": targets })
            };
            self.sizes.iter().zip(nodes).map(node).collect::<Vec<Value>>()
        });
        json!({
            "summary": self.summary,
            "guessed": self.notes,
            "train": self.train,
            "test": self.test,
            "nodes": nodes,
        })
    }

    pub fn as_text(&self) -> String {
        let mut text = output::facts(&self.facts());
        text.push_str(&list("guessed", &self.notes));
        text.push_str(&list("from the data", &self.summary.public_assumptions));
        if !self.summary.public_assumptions.is_empty() {
            text.push_str("a guarantee holds only if what was taken from the data is public\n");
        }
        text.push('\n');
        text.push_str(&self.columns());
        text.push_str(&self.norms());
        text.push_str(&self.classes("target", &self.train.targets, &self.summary.targets));
        if let Some(groups) = &self.train.groups {
            let balance = Balance::Class { counts: groups.clone() };
            text.push_str(&self.classes("group", &balance, &self.summary.groups));
        }
        text.push_str(&self.nodes());
        text
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let summary = self.summary;
        let files = match &summary.files[..] {
            [first, .., last] if summary.files.len() > 4 => {
                format!("{first} ... {last} ({} files)", summary.files.len())
            }
            files => files.join(", "),
        };
        let word = serde_json::to_value(summary.format).unwrap_or_default();
        let format = word.as_str().unwrap_or_default().to_string();
        let recipe = summary.recipe.as_ref().map(|name| format!(", recipe {name}"));
        let mut facts = vec![
            ("files", files),
            ("format", format + &recipe.unwrap_or_default()),
            ("records", part(&self.train, &summary.train)),
        ];
        if let Some(test) = &self.test {
            let counts = summary.test.clone();
            facts.push(("held out", part(test, &counts.unwrap_or_default())));
        }
        let layout = if self.train.sparse { "sparse" } else { "dense" };
        let density = 100.0 * self.train.density;
        let image = self.train.image.map(|[c, h, w]| format!(", images of {c} x {h} x {w}"));
        let features = self.train.features;
        facts.push((
            "features",
            format!("{features}, {layout}, {density:.1}% not zero{}", image.unwrap_or_default()),
        ));
        let counts = [Some(&summary.train), summary.test.as_ref()];
        let sum = |of: fn(&Counts) -> u64| counts.iter().flatten().map(|c| of(c)).sum::<u64>();
        facts.push(("missing", format!("{} values", sum(|c| c.missing))));
        facts.push(("clamped", format!("{} values beyond declared bounds", sum(|c| c.clamped))));
        facts.push(match summary.clip_rows {
            Some(bound) => {
                let shortened = sum(|c| c.shortened);
                (
                    "shortened",
                    format!("{shortened} records to the norm {bound}, which holds for all"),
                )
            }
            None => ("shortened", "none: no bound on the norm (clip-rows) is declared".into()),
        });
        facts
    }

    fn columns(&self) -> String {
        let columns = &self.summary.columns;
        let line = |column: &undertone_data::ColumnSummary| {
            let counts = [column.features as u64, column.missing, column.clamped];
            let mut cells = vec![column.name.clone(), column.kind.clone()];
            cells.extend(counts.map(|count| count.to_string()));
            cells
        };
        let rows = columns.iter().take(MOST_ROWS).map(line).collect();
        let header = ["column", "kind", "features", "missing", "clamped"];
        output::table(&header, rows) + "\n" + &beyond(columns.len(), "columns") + "\n"
    }

    fn norms(&self) -> String {
        let looks = &self.train;
        let [least, lower, median, upper, largest] = looks.norms.map(|norm| format!("{norm:.4}"));
        format!(
            "norms   0 |{}| {largest}\n        least {least}, quartiles {lower}, {median} and \
             {upper}, largest {largest}\n\n",
            skyline(&looks.histogram)
        )
    }

    fn classes(&self, what: &str, balance: &Balance, names: &[String]) -> String {
        if let Balance::Real { low, mean, high } = balance {
            return format!("{what}  numbers from {low} to {high}, mean {mean:.4}\n");
        }
        let counts = balance.counts();
        let records = self.train.records.max(1) as f64;
        let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
        let mut order: Vec<usize> = (0..counts.len()).collect();
        if counts.len() > MOST_ROWS {
            order.sort_by_key(|class| std::cmp::Reverse(counts[*class]));
        }
        let shown = || order.iter().take(MOST_ROWS);
        let name = |class: usize| names.get(class).cloned().unwrap_or_else(|| class.to_string());
        let width = shown().map(|class| name(*class).chars().count()).max().unwrap_or(0).min(40);
        let mut text = String::new();
        for &class in shown() {
            let count = counts[class];
            let share = 100.0 * count as f64 / records;
            let name: String = name(class).chars().take(width).collect();
            let bar = bar(count as f64 / most, 30);
            push(
                &mut text,
                format_args!("{what}  {name:width$}  {count:>8}  {share:5.1}%  {bar}\n"),
            );
        }
        text + &beyond(counts.len(), "more kinds") + "\n"
    }

    fn nodes(&self) -> String {
        let Some(nodes) = &self.nodes else { return String::new() };
        let most = self.sizes.iter().copied().max().unwrap_or(0).max(1) as f64;
        let row = |(node, (records, balance)): (usize, (&usize, &Balance))| {
            let classes = match balance {
                Balance::Real { mean, .. } => format!("mean {mean:.3}"),
                other if other.counts().len() <= 2 => join(other.counts()),
                other => format!("|{}|", skyline(&other.counts()[..other.counts().len().min(60)])),
            };
            vec![node.to_string(), records.to_string(), bar(*records as f64 / most, 20), classes]
        };
        let rows = self.sizes.iter().zip(nodes).enumerate().take(MOST_ROWS).map(row).collect();
        let header = ["node", "records", "", "target"];
        output::table(&header, rows) + "\n" + &beyond(nodes.len(), "nodes")
    }
}

fn part(looks: &Looks, counts: &Counts) -> String {
    let dropped = match counts.dropped {
        0 => String::new(),
        dropped => format!(" ({} read, {dropped} left out for missing values)", counts.read),
    };
    format!("{}{dropped}", looks.records)
}

fn list(what: &str, lines: &[String]) -> String {
    const MOST_LINES: usize = 8;
    let mut text = String::new();
    for line in lines.iter().take(MOST_LINES) {
        push(&mut text, format_args!("{what}: {line}\n"));
    }
    if let Some(more @ 1..) = lines.len().checked_sub(MOST_LINES) {
        push(&mut text, format_args!("{what}: and {more} more, see --json\n"));
    }
    text
}

fn join(counts: &[u64]) -> String {
    counts.iter().map(u64::to_string).collect::<Vec<_>>().join(" / ")
}

fn beyond(count: usize, what: &str) -> String {
    match count.checked_sub(MOST_ROWS) {
        None | Some(0) => String::new(),
        Some(more) => format!("and {more} {what}, see --json\n"),
    }
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("a string takes every character");
}
