//! A forecast for people, as JSON and as a chart.

use serde_json::{Value, json};
use undertone_node::plan::Plan;
use undertone_node::{Constant, Forecast, Group, Origin, Row};
use undertone_report::{Chart, Series};

use crate::output;

/// What is said of a forecast.
pub struct Report<'a> {
    plan: &'a Plan,
    forecast: &'a Forecast,
    /// What was taken from data and not declared.
    assumptions: &'a [String],
}

impl<'a> Report<'a> {
    pub fn new(plan: &'a Plan, forecast: &'a Forecast, assumptions: &'a [String]) -> Self {
        Self { plan, forecast, assumptions }
    }

    /// The errors that are predicted, against rounds.
    pub fn chart(&self) -> Chart {
        let series = |name: &str, pick: fn(&Row) -> Option<f64>| Series {
            name: name.into(),
            points: self
                .forecast
                .rows
                .iter()
                .filter_map(|row| Some((row.rounds as f64, pick(row)?)))
                .collect(),
        };
        let all = [
            series("ours", |row| row.error),
            series("ours, best steps", |row| row.best_error),
            series("003, true noise", |row| Some(row.theorem_1)),
            series("003 as printed", |row| Some(row.equation_14)),
        ];
        Chart {
            title: format!("{}: predicted squared gradient", self.plan.name),
            x: "rounds".into(),
            y: "predicted".into(),
            log_x: true,
            log_y: true,
            series: all.into_iter().filter(|series| !series.points.is_empty()).collect(),
        }
    }

    pub fn as_json(&self) -> Value {
        let mut value = json!(self.forecast);
        value["name"] = json!(self.plan.name);
        value["taken_for_public"] = json!(self.assumptions);
        value
    }

    pub fn as_text(&self) -> String {
        let forecast = self.forecast;
        let mut text = output::facts(&self.facts());
        text.push('\n');
        let header = [
            "rounds",
            "sigma",
            "epsilon",
            "predicted",
            "best step",
            "predicted",
            "003 thm 1",
            "003 eq. 14",
            "003's sigma",
            "its true epsilon",
        ];
        text.push_str(&output::table(&header, forecast.rows.iter().map(|r| self.row(r)).collect()));
        text.push_str(LEGEND);
        text.push_str(&format!("\n{}", self.chart().to_text(72, 16)));
        text.push_str(&self.choices());
        if let Some(why) = &forecast.unpredicted {
            text.push_str(&format!("\nnot everything is predicted: {why}\n"));
        }
        for what in self.assumptions {
            text.push_str(&format!("\nfrom the data, so taken for public: {what}\n"));
        }
        text
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let forecast = self.forecast;
        let constants = &forecast.constants;
        let groups = &forecast.rows[0].groups;
        let sizes = groups.iter().map(|group| group.records);
        let (least, most) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
        let sizes = if least == most { format!("{least}") } else { format!("{least} to {most}") };
        let mut facts = vec![
            ("nodes", format!("{}, with {sizes} records each", forecast.nodes)),
            ("model", format!("{} numbers, clip norm {}", forecast.dimension, forecast.clip)),
            ("adjacency", forecast.adjacency.to_string()),
            ("smoothness L", constant(&constants.smoothness)),
            ("gap f(x0) - f*", constant(&constants.gap)),
            ("heterogeneity b^2", constant(&constants.heterogeneity)),
            ("variance", constant(&constants.variance)),
            ("|x0|^2", number(constants.start)),
        ];
        if let Some(estimated) = &forecast.estimated {
            let (epsilon, delta) = (output::epsilon(estimated.epsilon), estimated.delta);
            let spent = format!("({epsilon}, {delta}) of every budget went into the estimate");
            facts.push(("charged", spent));
            facts.push(("estimate", estimated.guarantee.clone()));
            let seed = "comes from the plan's seed, and hides nothing from whoever knows that; \
                        another estimate of the same records costs again";
            facts.push(("its noise", seed.into()));
        }
        facts
    }

    fn row(&self, row: &Row) -> Vec<String> {
        let worst = row.worst();
        let (least, most) = row.sigmas();
        let sigma = match least == most {
            true => output::significant(most),
            false => format!("{} to {}", number(least), output::significant(most)),
        };
        let mut marks = String::new();
        for (mark, rounds) in [(" ours", self.forecast.ours), (" 003", self.forecast.paper.rounds)]
        {
            if rounds == Some(row.rounds) {
                marks.push_str(mark);
            }
        }
        vec![
            format!("{}{marks}", row.rounds),
            sigma,
            output::epsilon(worst.epsilon),
            row.error.map_or("-".into(), number),
            row.best_step.map_or("-".into(), number),
            row.best_error.map_or("-".into(), number),
            number(row.theorem_1),
            number(row.equation_14),
            number(worst.paper_sigma),
            output::epsilon(row.paper_epsilon()),
        ]
    }

    /// What either estimator chooses, and what every node then needs.
    fn choices(&self) -> String {
        let forecast = self.forecast;
        let mut text = String::new();
        let at = |rounds: u64| forecast.rows.iter().find(|row| row.rounds == rounds);
        if let Some(row) = forecast.ours.and_then(at) {
            let step = match (row.error, row.best_step) {
                (None, Some(step)) => format!(" with steps of {}", number(step)),
                _ => String::new(),
            };
            let last = forecast.rows.last().is_some_and(|last| last.rounds == row.rounds);
            let edge = if last { ", the most that were tried; raise plan.most-rounds" } else { "" };
            text.push_str(&format!("\nours: {} rounds{step}{edge}\n", row.rounds));
            row.groups.iter().take(SHOWN).for_each(|group| text.push_str(&needs(group)));
            if row.groups.len() > SHOWN {
                let more = row.groups.len() - SHOWN;
                text.push_str(&format!("  and {more} more kinds of nodes; see --json\n"));
            }
        }
        let paper = &forecast.paper;
        let exact = number(paper.exact);
        text.push_str(&format!("\n003 equation 12: {exact} rounds with c2 = {}", paper.constant));
        match paper.rounds.and_then(at) {
            Some(row) => text.push_str(&format!(
                "; its noise {} costs epsilon {} in truth, not {}; a true guarantee needs {}\n",
                number(row.worst().paper_sigma),
                output::epsilon(row.paper_epsilon()),
                row.worst().budget,
                output::significant(row.sigmas().1),
            )),
            None => text.push_str("; more than can be run\n"),
        }
        text
    }
}

/// So many kinds of nodes are listed.
const SHOWN: usize = 8;

const LEGEND: &str = "
sigma: noise in a mean gradient, the least that keeps every node's budget (least and most over
nodes); epsilon: its price at the node with the most noise, proved. predicted: mean squared
gradient of the mean model by the plan's network and steps, then by the best constant step. 003 thm
1: with that noise; 003 eq. 14: with the paper's. All of these are predictions. 003's sigma is
priced for one uniform record a round, replace-one.
";

fn needs(group: &Group) -> String {
    let who = match group.nodes {
        1 => format!("node {}", group.node),
        n => format!("node {} and {} more", group.node, n - 1),
    };
    format!(
        "  {who}: {} records, sigma {}, epsilon {} of {} at delta {}\n",
        group.records,
        output::significant(group.sigma),
        output::epsilon(group.epsilon),
        group.budget,
        group.delta,
    )
}

fn constant(constant: &Constant) -> String {
    let origin = match constant.origin {
        Origin::Clip => "at most, by the clip norm",
        Origin::Generator => "estimated from other records of the generator, at no cost",
        Origin::Given => "given",
        Origin::Private => "estimated from the nodes' own records, charged",
        Origin::Public => "estimated from public records, at no cost",
    };
    format!("{} ({origin})", number(constant.value))
}

fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        v if (1e-3..1e5).contains(&v) => {
            let places = (3 - v.log10().floor() as i32).max(0) as usize;
            format!("{value:.places$}")
        }
        _ => format!("{value:.3e}"),
    }
}
