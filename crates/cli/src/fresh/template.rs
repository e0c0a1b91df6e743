//! A plan for every algorithm, put together from parts.

use undertone_node::plan::{AlgorithmWord, Objective};

/// What is learned from, if it is not made up.
pub struct Records {
    /// The table `[data]`.
    pub data: String,
    /// A kind of model that fits.
    pub model: &'static str,
    /// How many are learned from.
    pub count: usize,
}

/// A plan with a comment on every line. It runs as it is.
pub fn plan(word: AlgorithmWord, records: Option<&Records>) -> String {
    let facts = word.facts();
    let averages = !word.learns();
    let mut text = format!(
        "# {}: {} ({}).\n# Shipped: {}.\n# `undertone algorithms {}` says more; \
         `undertone check` explains this file.\n",
        facts.name,
        facts.what,
        facts.paper.name(),
        facts.shipped,
        facts.name,
    );
    let name = format!("name = \"my-{}\"", facts.name);
    text.push_str(&format!(
        "{name:35} # the folder of the results\n\
         seed = 1                            # of everything random; public\n\n",
    ));
    text.push_str(&network(word));
    let usual = if averages { NUMBERS } else { RECORDS };
    text.push_str(records.map_or(usual, |records| &records.data));
    let kind = format!("kind = \"{}\"", records.map_or("logistic", |records| records.model));
    if facts.objective == Objective::Convex {
        text.push_str(&format!("[model]\n{kind:35} # or smoothed-hinge, linear\n\n"));
    } else if !averages {
        let hint = "# or mlp with hidden = [20]";
        text.push_str(&format!("[model]\n{kind:35} {hint}\nintercept = true\n\n"));
    }
    let keys = match records {
        // A batch is a quarter of what a node has, at most.
        Some(records) => {
            let batch = (records.count / NODES / 4).clamp(1, 50);
            keys(word).replace("batch = 50 ", &format!("batch = {batch} "))
        }
        None => keys(word).into(),
    };
    text.push_str(&format!("[algorithm]\nname = \"{}\"\n{keys}\n", facts.name));
    text.push_str(&privacy(word));
    if word == AlgorithmWord::Adp2Sgd {
        text.push_str(
            "[world.compute]                     # by virtual time: how long a batch takes\n\
             model = \"uniform\"\nlow = 0.5                           # seconds\nhigh = 1.5\n\n",
        );
    }
    text.push_str(&format!(
        "[run]\nrounds = {}\nprecision = \"f64\"                   # or f32, which is faster\n\n",
        rounds(word)
    ));
    let metrics = match records.map_or("logistic", |records| records.model) {
        _ if averages => "\"mean-error\", \"consensus-error\"",
        "linear" => "\"loss\"",
        _ => "\"accuracy\", \"loss\"",
    };
    text.push_str(&format!(
        "[evaluate]                          # by the simulator, which sees everything\n\
         metrics = [{metrics}]\nevery = {}\n\n",
        (rounds(word) / 10).max(1)
    ));
    text.push_str(&vary(word));
    text
}

/// Of every plan.
const NODES: usize = 8;

const NUMBERS: &str = include_str!("numbers.toml");
const RECORDS: &str = include_str!("records.toml");

fn network(word: AlgorithmWord) -> String {
    use AlgorithmWord as Word;
    let start = "[network]\nnodes = 8\n";
    let body = match word {
        Word::PrivSgp | Word::PrivSgpVr | Word::PushSum | Word::SparsePushSum => {
            "schedule = \"exponential\"            # in round k, i is heard by i + 2^(k mod 3)\n"
        }
        Word::RunningSum | Word::Surplus | Word::SurplusGradient => {
            "schedule = \"fixed\"                  # the same graph always\n\
             topology = { family = \"in-regular\", degree = 2, connected = true }\n"
        }
        Word::Dp2Sgd | Word::Dsgd | Word::Gossip | Word::QDpsgd1 | Word::QDpsgd2 | Word::Sdm => {
            "schedule = \"fixed\"                  # the same graph always\n\
             topology = { family = \"ring\" }      # or \"edges\" with edges = [[0, 1], ...]\n\
             weights = \"metropolis\"\n"
        }
        Word::TwoStage => {
            "schedule = \"fixed\"                  # the same graph always\n\
             topology = { family = \"ring\" }      # or \"edges\" with edges = [[0, 1], ...]\n\
             weights = \"laplacian-max\"           # those of paper 004\n"
        }
        Word::Admm
        | Word::Adp2Sgd
        | Word::Dvp
        | Word::IppAdmm
        | Word::MAdmm
        | Word::MrAdmm
        | Word::PpAdmm
        | Word::PrAdmmIteration
        | Word::PrAdmmPeriodic
        | Word::PrivateMrAdmm
        | Word::PrivateRAdmm
        | Word::RAdmm => {
            "schedule = \"fixed\"                  # the same graph always\n\
             topology = { family = \"ring\" }      # undirected\n"
        }
    };
    format!("{start}{body}\n")
}

/// Keys of `[algorithm]` beside the name.
fn keys(word: AlgorithmWord) -> &'static str {
    use AlgorithmWord as Word;
    match word {
        Word::Gossip | Word::PushSum | Word::RunningSum => "",
        Word::SparsePushSum => {
            "sparsity = 0.5                      # half of the numbers is not sent\n"
        }
        Word::Surplus => {
            "sparsity = 0.5                      # half of the numbers is not sent\n\
             gamma = 0.1                         # the share of the surplus that is put back\n"
        }
        Word::SurplusGradient => {
            "sparsity = 0.5                      # half of the numbers is not sent\n\
             gamma = 0.1                         # the share of the surplus that is put back\n\
             step = { first = 2.0, power = 0.5 } # 2/sqrt(k + 1) in step k\n\
             sampling = \"full\"                   # all records of a node\n"
        }
        Word::TwoStage => "steps = 10                          # noisy steps before averaging\n",
        Word::PrivSgp | Word::PrivSgpVr | Word::Dp2Sgd | Word::Dsgd | Word::Adp2Sgd => {
            "step = 1.0\n\
             momentum = 0.9                      # of what was released, so it costs nothing\n\
             sampling = \"poisson\"                # every record by itself, so that few are read\n\
             batch = 50                          # so many on average\n"
        }
        Word::QDpsgd1 | Word::QDpsgd2 => {
            "step = 0.5\n\
             sampling = \"poisson\"                # every record by itself, so that few are read\n\
             batch = 50                          # so many on average\n\
             bits = 16                           # of a number on the wire\n\
             lattice = 0.001                     # the distance of neighbouring numbers\n\
             pace = 0.5                          # the share of a change that is carried out\n"
        }
        Word::Sdm => {
            "step = 0.5\n\
             sampling = \"poisson\"                # every record by itself, so that few are read\n\
             batch = 50                          # so many on average\n\
             transmit = 0.5                      # the chance of a number to be sent\n"
        }
        Word::Admm | Word::Dvp | Word::PpAdmm => {
            "admm = { penalty = 0.5, ridge = 1e-3 } # every node adds ridge/2 |x|^2\n"
        }
        Word::RAdmm | Word::PrivateRAdmm => {
            "admm = { penalty = 0.5, ridge = 1e-3, gamma = 0.5 } # gamma: of recycled steps\n"
        }
        Word::MrAdmm | Word::PrivateMrAdmm => {
            "admm = { penalty = 0.5, growth = 1.01, ridge = 1e-3, gamma = 0.5 }\n"
        }
        Word::MAdmm => "admm = { penalty = 0.5, growth = 1.01, ridge = 1e-3 }\n",
        Word::PrAdmmPeriodic => {
            "admm = { penalty = 0.5, ridge = 1e-3, period = 5, ratio = 0.9 } # of the variance\n"
        }
        Word::PrAdmmIteration => "admm = { penalty = 0.5, ridge = 1e-3, decay = 0.5 }\n",
        Word::IppAdmm => {
            "admm = { penalty = 0.5, ridge = 1e-3, cutoff = 10, loss-clip = 2.0, \
             threshold = 1e-2 }\n"
        }
    }
}

fn privacy(word: AlgorithmWord) -> String {
    use AlgorithmWord as Word;
    if matches!(word, Word::Admm | Word::Dsgd | Word::MrAdmm | Word::RAdmm) {
        return "# No [privacy]: this algorithm has no noise, and its result has no guarantee.\n\n"
            .into();
    }
    let clip = match word {
        _ if !word.learns() => {
            "clip = { clip = \"box\", radius = 1.0 } # what records are clipped to; or \"ball\"\n"
        }
        _ if word.minimises() => {
            "clip = 1.0                          # the norm of one record's features\n"
        }
        _ => "clip = 1.0                          # the norm of one record's gradient\n",
    };
    format!(
        "[privacy]                           # no key of it has a default\n\
         epsilon = 1.0                       # for the whole run, whoever sees every message\n\
         delta = 1e-5\n{clip}\
         noise = \"sound\"                     # the least that the budget needs; or \"paper\"\n\
         # [[privacy.node]]                  # a node with a budget of its own\n\
         # node = 0\n# epsilon = 0.5\n# delta = 1e-5\n\n"
    )
}

fn rounds(word: AlgorithmWord) -> u64 {
    match word {
        _ if word.minimises() => 20,
        _ if word.learns() => 60,
        AlgorithmWord::Surplus => 200,
        _ => 60,
    }
}

/// What to compare, if anything.
fn vary(word: AlgorithmWord) -> String {
    let key = match word {
        AlgorithmWord::Admm | AlgorithmWord::MrAdmm | AlgorithmWord::RAdmm => "run.rounds",
        AlgorithmWord::Dsgd => "algorithm.step",
        _ => "privacy.epsilon",
    };
    let values = match key {
        "run.rounds" => "[10, 20]",
        "algorithm.step" => "[0.5, 1.0]",
        _ => "[0.3, 1.0, 3.0]",
    };
    format!(
        "# [[vary]]                          # all combinations are run\n# key = \"{key}\"\n\
         # values = {values}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::file::PlanFile;

    #[test]
    fn every_algorithm_has_a_plan_of_its_own_that_parses() {
        for word in AlgorithmWord::ALL {
            let text = plan(word, None);
            let name = word.facts().name;
            assert!(text.lines().all(|line| line.len() <= 100), "{name}:\n{text}");
            let file = PlanFile::parse(name.into(), text).unwrap();
            let variants = file.variants(&[]).unwrap();
            assert_eq!(variants[0].plan.algorithm.name, word);
            // What is commented out parses, too.
            let open = file.text().replace("\n# [[", "\n[[").replace("\n# ", "\n");
            let open = open.split_once("seed = ").map(|(_, rest)| rest.to_string());
            let open = format!("name = \"x\"\nseed = {}", open.unwrap());
            let open: Vec<&str> = open.lines().filter(|l| !l.starts_with("No [privacy]")).collect();
            let parsed = PlanFile::parse(name.into(), open.join("\n"));
            assert!(parsed.is_ok(), "{name}: {:?}", parsed.err());
        }
    }
}
