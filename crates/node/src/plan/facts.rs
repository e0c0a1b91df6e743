//! What there is to know about every algorithm, in one table.

use super::AlgorithmWord;

/// What somebody needs to know to choose an algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Facts {
    /// As in a plan.
    pub name: &'static str,
    /// In a few words.
    pub what: &'static str,
    /// Where it comes from.
    pub paper: Paper,
    /// What nodes agree on.
    pub objective: Objective,
    /// Who may hear whom.
    pub topology: &'static str,
    /// What a plan has to give beside what all give.
    pub needs: &'static str,
    /// The name of its claim in [`undertone_privacy::claims`]; none if it makes none of its own.
    pub claim: Option<&'static str>,
    /// What is proved of what runs here.
    pub shipped: &'static str,
    /// What a round costs a node: gradients or minima, and numbers for each hearer.
    pub cost: &'static str,
}

/// Where an algorithm comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paper {
    /// Chapters 3 to 5 of paper 000.
    P000,
    /// Paper 001.
    P001,
    /// Paper 002.
    P002,
    /// Paper 003.
    P003,
    /// Paper 004.
    P004,
    /// Something older that the papers compare with.
    Baseline(&'static str),
}

impl Paper {
    /// For a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::P000 => "000",
            Self::P001 => "001",
            Self::P002 => "002",
            Self::P003 => "003",
            Self::P004 => "004",
            Self::Baseline(name) => name,
        }
    }
}

/// What nodes agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// The minimum of a convex loss of one score, by local minima.
    Convex,
    /// A mean of vectors; with it, also a fair classifier.
    Mean,
    /// A mean of vectors, or any model in double precision.
    MeanOrModel,
    /// Any model with gradients.
    Model,
}

impl Objective {
    /// For a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Convex => "convex loss",
            Self::Mean => "mean",
            Self::MeanOrModel => "mean, or any model",
            Self::Model => "any model",
        }
    }
}

const ONCE: &str = "one Gaussian release a node, exact";
const NONE: &str = "none: no noise, no guarantee";
const SAMPLED: &str = "noisy gradients of sampled batches, by PLD or Renyi composition";
const DIRECTED: &str = "directed, may change";
const MIXING: &str = "symmetric weights, may change";
const FIXED: &str = "fixed, undirected";
const GRADIENT: &str = "1 batch of gradients, d numbers";
const MINIMUM: &str = "1 local minimum, d numbers";
const STEPS: &str = "model, step, sampling, batch";
const WEIGHTED: &str = "model, step, sampling, batch, weights";
const PENALTY: &str = "model, admm.penalty, admm.ridge";
const KNORM: &str = "K-norm noise on certified minima, composed; pure if delta = 0";
const OUTPUT: &str = "Gaussian noise on certified minima, composed";

impl AlgorithmWord {
    /// All there are, in the order of their names. Whoever adds one has to say what it is: the
    /// table below leaves none out.
    pub const ALL: [Self; 26] = [
        Self::Admm,
        Self::Adp2Sgd,
        Self::Dp2Sgd,
        Self::Dsgd,
        Self::Dvp,
        Self::Gossip,
        Self::IppAdmm,
        Self::MAdmm,
        Self::MrAdmm,
        Self::PpAdmm,
        Self::PrAdmmIteration,
        Self::PrAdmmPeriodic,
        Self::PrivSgp,
        Self::PrivSgpVr,
        Self::PrivateMrAdmm,
        Self::PrivateRAdmm,
        Self::PushSum,
        Self::QDpsgd1,
        Self::QDpsgd2,
        Self::RAdmm,
        Self::RunningSum,
        Self::Sdm,
        Self::SparsePushSum,
        Self::Surplus,
        Self::SurplusGradient,
        Self::TwoStage,
    ];

    /// What there is to know about it.
    pub fn facts(self) -> Facts {
        use Objective::{Convex, Mean, MeanOrModel, Model};
        let averaging = |name, what, paper, topology, needs, claim, cost| Facts {
            name,
            what,
            paper,
            objective: Mean,
            topology,
            needs,
            claim,
            shipped: ONCE,
            cost,
        };
        let descent = |name, what, paper, topology, needs, claim, shipped| Facts {
            name,
            what,
            paper,
            objective: Model,
            topology,
            needs,
            claim,
            shipped,
            cost: GRADIENT,
        };
        let minima = |name, what, paper, claim, shipped| Facts {
            name,
            what,
            paper,
            objective: Convex,
            topology: FIXED,
            needs: PENALTY,
            claim,
            shipped,
            cost: MINIMUM,
        };
        match self {
            Self::Admm => minima(
                "admm",
                "consensus by penalties",
                Paper::Baseline("Boyd and others 2011"),
                None,
                NONE,
            ),
            Self::Adp2Sgd => descent(
                "adp2-sgd",
                "neighbours meet in pairs, each at its own pace",
                Paper::Baseline("Xu, Zhang, Wang 2021"),
                FIXED,
                "model, step, sampling, batch, world.compute",
                Some("a-dp2-sgd"),
                SAMPLED,
            ),
            Self::Dp2Sgd => descent(
                "dp2-sgd",
                "noisy descent with symmetric weights",
                Paper::Baseline("Yu and others 2021"),
                MIXING,
                WEIGHTED,
                Some("dp2-sgd"),
                SAMPLED,
            ),
            Self::Dsgd => descent(
                "dsgd",
                "descent with symmetric weights",
                Paper::Baseline("Lian and others 2017"),
                MIXING,
                WEIGHTED,
                Some("dsgd"),
                NONE,
            ),
            Self::Dvp => minima(
                "dvp",
                "ADMM with noise in the dual variable",
                Paper::Baseline("Zhang, Zhu 2017"),
                Some("dvp"),
                KNORM,
            ),
            Self::Gossip => averaging(
                "gossip",
                "averaging with symmetric weights",
                Paper::Baseline("Xiao, Boyd 2004"),
                MIXING,
                "weights",
                None,
                "d numbers",
            ),
            Self::IppAdmm => Facts {
                needs: "model, admm.penalty, admm.ridge, admm.cutoff, admm.loss-clip, \
                        admm.threshold",
                ..minima(
                    "ipp-admm",
                    "PP-ADMM that sends only what is worth it",
                    Paper::P000,
                    Some("ipp-admm"),
                    "a redesigned sparse test and Gaussian noise on certified minima",
                )
            },
            Self::MAdmm => minima(
                "m-admm",
                "ADMM with noise in a growing penalty",
                Paper::Baseline("Zhang, Khalili, Liu 2018"),
                Some("m-admm"),
                KNORM,
            ),
            Self::MrAdmm => minima(
                "mr-admm",
                "R-ADMM with a growing penalty",
                Paper::P002,
                Some("mr-admm"),
                NONE,
            ),
            Self::PpAdmm => minima(
                "pp-admm",
                "noise on the output, or in the objective",
                Paper::P000,
                Some("pp-admm"),
                OUTPUT,
            ),
            Self::PrAdmmIteration => minima(
                "pr-admm-iteration",
                "noise that falls from round to round",
                Paper::P000,
                Some("pr-admm-iteration"),
                OUTPUT,
            ),
            Self::PrAdmmPeriodic => minima(
                "pr-admm-periodic",
                "noise that falls after every period",
                Paper::P000,
                Some("pr-admm-periodic"),
                OUTPUT,
            ),
            Self::PrivSgp => descent(
                "priv-sgp",
                "gradient push with noise",
                Paper::P003,
                DIRECTED,
                STEPS,
                Some("privsgp"),
                SAMPLED,
            ),
            Self::PrivSgpVr => descent(
                "priv-sgp-vr",
                "the same with remembered gradients",
                Paper::P003,
                DIRECTED,
                STEPS,
                Some("privsgp-vr"),
                "a noisy remembered mean that is paid for; as printed by bounds (S) and (C)",
            ),
            Self::PrivateMrAdmm => minima(
                "private-mr-admm",
                "MR-ADMM with noise in the objective",
                Paper::P002,
                Some("private-mr-admm"),
                KNORM,
            ),
            Self::PrivateRAdmm => minima(
                "private-r-admm",
                "R-ADMM with noise in the objective",
                Paper::P002,
                Some("private-r-admm"),
                KNORM,
            ),
            Self::PushSum => averaging(
                "push-sum",
                "averaging over directed graphs",
                Paper::Baseline("Kempe and others 2003"),
                DIRECTED,
                "nothing",
                None,
                "d + 1 numbers",
            ),
            Self::QDpsgd1 => Facts {
                cost: "1 batch of gradients, d times `bits` bits",
                ..descent(
                    "q-dpsgd-1",
                    "descent with quantised messages and batches by a deadline",
                    Paper::P000,
                    MIXING,
                    "model, step, sampling, batch or deadline, weights, bits, lattice",
                    Some("q-dpsgd-1"),
                    SAMPLED,
                )
            },
            Self::QDpsgd2 => Facts {
                cost: "1 batch of gradients, d times `bits` bits",
                ..descent(
                    "q-dpsgd-2",
                    "the same with noise on the lattice",
                    Paper::P000,
                    MIXING,
                    "model, step, poisson or full, weights, bits, lattice",
                    Some("q-dpsgd-2"),
                    "a discrete Gaussian on the lattice, re-anchored at what was sent",
                )
            },
            Self::RAdmm => minima(
                "r-admm",
                "every second step recycles what is known",
                Paper::P002,
                Some("r-admm"),
                NONE,
            ),
            Self::RunningSum => averaging(
                "running-sum",
                "push-sum over links that lose messages",
                Paper::Baseline("Hadjicostis and others 2016"),
                "directed, fixed",
                "nothing",
                None,
                "d + 1 numbers",
            ),
            Self::Sdm => Facts {
                cost: "1 batch of gradients, about d times `transmit` numbers",
                ..descent(
                    "sdm",
                    "sends a random part of every change",
                    Paper::Baseline("Zhang and others 2020"),
                    FIXED,
                    "model, step, poisson or full, weights, transmit",
                    Some("sdm"),
                    "masks are public, so they save nothing; sampled batches do",
                )
            },
            Self::SparsePushSum => averaging(
                "sparse-push-sum",
                "push-sum that sends some coordinates only",
                Paper::P001,
                DIRECTED,
                "sparsity",
                None,
                "d (1 - sparsity) + 1 numbers",
            ),
            Self::Surplus => averaging(
                "surplus",
                "averaging of sparse messages with a surplus",
                Paper::P001,
                "directed, connected over windows",
                "sparsity, gamma",
                Some("dp-consensus"),
                "2 d (1 - sparsity) numbers",
            ),
            Self::SurplusGradient => Facts {
                cost: "1 batch of gradients a window, 2 d (1 - sparsity) numbers",
                ..descent(
                    "surplus-gradient",
                    "descent on top of it, one step a window",
                    Paper::P001,
                    "directed, connected over windows",
                    "model, step, sampling, sparsity, gamma",
                    Some("dp-optimisation"),
                    SAMPLED,
                )
            },
            Self::TwoStage => Facts {
                name: "two-stage",
                what: "noisy descent alone, then averaging",
                paper: Paper::P004,
                objective: MeanOrModel,
                topology: MIXING,
                needs: "steps, weights; with a model a step of power 1 and f64",
                claim: Some("dp-dgd"),
                shipped: "noise in every step, also the last; as printed no guarantee",
                cost: "all gradients in the first `steps` rounds, d numbers",
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use undertone_privacy::claims::find;

    use super::*;

    #[test]
    fn names_are_those_of_plans_and_none_is_left_out() {
        for word in AlgorithmWord::ALL {
            let written = serde_json::to_value(word).unwrap();
            assert_eq!(written, word.facts().name);
            let claim = word.facts().claim;
            assert!(claim.is_none_or(|claim| find(claim).is_some()), "{claim:?}");
        }
        // Serde knows them all.
        let error = serde_json::from_str::<AlgorithmWord>("\"?\"").unwrap_err().to_string();
        let listed = error.split('`').skip(3).step_by(2);
        let mut listed: Vec<&str> = listed.collect();
        listed.sort_unstable();
        let mut names = AlgorithmWord::ALL.map(|word| word.facts().name);
        names.sort_unstable();
        assert_eq!(listed, names);
    }

    #[test]
    fn objectives_are_what_plans_are_checked_for() {
        for word in AlgorithmWord::ALL {
            let objective = word.facts().objective;
            assert_eq!(word.minimises(), objective == Objective::Convex, "{word:?}");
            let model = matches!(objective, Objective::Convex | Objective::Model);
            assert_eq!(word.learns(), model, "{word:?}");
            assert_eq!(word.takes_model(), objective != Objective::Mean, "{word:?}");
        }
    }
}
