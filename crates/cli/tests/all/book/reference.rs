//! The chapters that are made from the code.

use std::fmt::Write;
use std::process::Command;

use super::types;

/// Names and texts.
pub fn chapters() -> [(&'static str, String); 2] {
    [("cli.md", commands()), ("plan.md", plan())]
}

const MADE: &str = "<!-- made by `cargo xtask book`; do not edit -->\n\n";

/// What every command says of itself.
fn commands() -> String {
    let mut text = format!(
        "# Commands\n\n{MADE}What `undertone help` says of every command. Exit codes: 0 if all \
         went well, 1 if something that was expected does not hold, 2 if the input is wrong.\n"
    );
    let mut todo = vec![Vec::<String>::new()];
    while let Some(words) = todo.pop() {
        let mut command = Command::new(env!("CARGO_BIN_EXE_undertone"));
        let output = command.arg("help").args(&words).env("NO_COLOR", "1").output().unwrap();
        assert!(output.status.success(), "undertone help {}", words.join(" "));
        let help = String::from_utf8(output.stdout).unwrap();
        let name = [&["undertone".to_string()][..], &words].concat().join(" ");
        let _ = write!(text, "\n## `{name}`\n\n```text\n{}\n```\n", help.trim_end());
        let inner = subcommands(&help).into_iter().rev();
        todo.extend(inner.map(|word| [&words[..], &[word]].concat()));
    }
    text
}

/// What stands above the first list of commands, of all and of one that has others.
const HEADINGS: [&str; 2] = ["Begin:", "Commands:"];

/// The names in the lists of commands.
fn subcommands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| !HEADINGS.contains(line)).skip(1);
    let listed =
        listed.take_while(|line| !line.starts_with("Options:") && !line.starts_with("Usage"));
    let names = |line: &str| {
        let entry = line.strip_prefix("  ").filter(|rest| !rest.starts_with([' ', '-']));
        let names = entry.and_then(|entry| entry.split("  ").next()).unwrap_or_default();
        names.split(", ").map(str::to_string).collect::<Vec<_>>()
    };
    listed.flat_map(names).filter(|word| !word.is_empty() && word != "help").collect()
}

/// The types that a plan is read into, in the order of a plan.
const TYPES: &[(&str, &str, &str)] = &[
    ("The plan", "crates/node/src/plan.rs", "Plan"),
    ("`[network]`", "crates/node/src/plan.rs", "NetworkPlan"),
    ("`network.topology`", "crates/graph/src/family.rs", "Family"),
    ("`network.schedule`", "crates/node/src/plan.rs", "ScheduleWord"),
    ("`network.weights`", "crates/node/src/plan.rs", "WeightsWord"),
    ("`[data]` of averages", "crates/node/src/plan/data.rs", "NumbersPlan"),
    ("`data.source` of averages", "crates/node/src/plan/data.rs", "SourceWord"),
    ("`[data]` of models, made up", "crates/node/src/plan/data.rs", "DrawnPlan"),
    ("`data.source` of models", "crates/node/src/plan/data.rs", "DrawnWord"),
    ("`[data]` of models, from files", "crates/data/src/recipe.rs", "Recipe"),
    ("`data.columns`", "crates/data/src/recipe.rs", "ColumnPlan"),
    ("`data.target`", "crates/data/src/recipe.rs", "TargetPlan"),
    ("`data.split`", "crates/model/src/partition.rs", "Partition"),
    ("`[algorithm]`", "crates/node/src/plan/algorithm.rs", "AlgorithmPlan"),
    ("`algorithm.name`", "crates/node/src/plan/algorithm.rs", "AlgorithmWord"),
    ("`algorithm.step`", "crates/node/src/plan/algorithm.rs", "StepPlan"),
    ("`algorithm.sampling`", "crates/node/src/plan/algorithm.rs", "SamplingWord"),
    ("`algorithm.deadline`", "crates/node/src/plan/algorithm.rs", "DeadlinePlan"),
    ("`algorithm.deadline.speed`", "crates/node/src/plan/algorithm.rs", "Speed"),
    ("`algorithm.domain`", "crates/node/src/plan/algorithm.rs", "DomainPlan"),
    ("`algorithm.admm`", "crates/node/src/plan/admm.rs", "AdmmPlan"),
    ("`[privacy]`", "crates/node/src/plan/privacy.rs", "PrivacyPlan"),
    ("`privacy.clip`, if it adapts", "crates/node/src/plan/privacy.rs", "AdaptivePlan"),
    ("`privacy.noise`", "crates/node/src/plan/privacy.rs", "NoisePlan"),
    ("`[[privacy.node]]`", "crates/node/src/plan/privacy.rs", "NodeBudget"),
    ("`[run]`", "crates/node/src/plan.rs", "RunPlan"),
    ("`[rounds]`", "crates/node/src/plan.rs", "RoundsPlan"),
    ("`[world]`", "crates/sim/src/world.rs", "World"),
    ("`[world.links]`", "crates/sim/src/links.rs", "Links"),
    ("`world.links.link`", "crates/sim/src/links.rs", "Link"),
    ("`[world.compute]`", "crates/sim/src/compute.rs", "Compute"),
    ("`[world.faults]`", "crates/sim/src/faults.rs", "Faults"),
    ("`[evaluate]`", "crates/node/src/plan.rs", "EvaluatePlan"),
    ("`evaluate.metrics`", "crates/node/src/plan.rs", "Metric"),
    ("`[[vary]]`", "crates/node/src/plan.rs", "Vary"),
    ("`[[expected]]`", "crates/node/src/plan/band.rs", "Expected"),
    ("`[chart]`", "crates/node/src/plan.rs", "ChartPlan"),
    ("`[plan]`", "crates/node/src/plan/planning.rs", "PlanningPlan"),
];

/// Every key of a plan, as the comments of its type have it.
fn plan() -> String {
    let mut text = format!(
        "# Keys of a plan\n\n{MADE}Every key, from the types that a plan is read into. \
         [Plan files](../plans.md) explains how they go together.\n"
    );
    for (title, path, name) in TYPES {
        let item = types::find(&types::source(path), name);
        // Some say no more than their name.
        let doc = Some(&item.doc).filter(|doc| doc.trim_end_matches('.') != *title);
        let doc = doc.map_or(String::new(), |doc| format!("{doc}\n\n"));
        let _ = write!(text, "\n## {title}\n\n{doc}{}", item.to_markdown());
    }
    text
}

#[test]
fn subcommands_are_read_from_help() {
    let help = "About.\n\nUsage: undertone <COMMAND>\n\nCommands:\n  account  Price\n  run      \
                Run\n           more\n  help     This\n\nOptions:\n  -h, --help  Print\n";
    assert_eq!(subcommands(help), ["account", "run"]);
    assert_eq!(subcommands("Usage: undertone run\n\nOptions:\n  -h\n"), [""; 0]);
}
