//! All keys of plans. A test compares them with what the reader of plans takes.

use super::Shape::{self, Any, Boolean, Either, Integer, List, Number, Open, Table, Text, Words};
use super::{Key, key, needed};

/// A whole plan.
pub const PLAN: &[Key] = &[
    needed("name", Text, "what it is called; the folder of its results, too"),
    needed("seed", Integer, "of everything random; public"),
    needed("network", Table(NETWORK), "who hears whom"),
    needed("data", Table(DATA), "what the nodes have"),
    key("model", Table(MODEL), "what they learn; without it they agree on a mean"),
    needed("algorithm", Table(ALGORITHM), "what they do"),
    key("privacy", Table(PRIVACY), "what they hide; without it there is no guarantee"),
    needed("run", Table(RUN), "how long"),
    key("rounds", Table(ROUNDS), "how rounds go by the clock, for nodes that are processes"),
    key("world", Table(WORLD), "links, speeds and faults of the simulator; ideal if absent"),
    needed("evaluate", Table(EVALUATE), "what is measured"),
    key("vary", List(&Table(VARY)), "keys that take several values; all combinations are run"),
    key("expected", List(&Table(EXPECTED)), "what the results have to be"),
    key("chart", Table(CHART), "what is drawn"),
    key("plan", Table(PLANNING), "what `undertone plan` knows of the problem"),
];

pub const NETWORK: &[Key] = &[
    needed("nodes", Integer, "how many"),
    key("topology", Table(TOPOLOGY), "a family of graphs and its parameters"),
    key("topologies", List(&Table(TOPOLOGY)), "several of them, for the schedule cycle"),
    needed("schedule", Words(SCHEDULES), "which graph in which round"),
    key("window", Integer, "rounds that are connected together, for the schedule window"),
    key("weights", Words(WEIGHTS), "how much of what it hears a node takes over"),
    key("lazy", Number, "the share of its own value that everybody keeps on top"),
];

pub const SCHEDULES: &[&str] =
    &["cycle", "exponential", "fixed", "matching", "per-round", "window"];
pub const WEIGHTS: &[&str] = &["in", "laplacian-max", "metropolis", "out"];

const TOPOLOGY: &[Key] = &[
    needed("family", Words(FAMILIES), "see `undertone topology --help`"),
    key("nodes", Integer, "those of the network if not given"),
    key("probability", Number, "of an edge"),
    key("degree", Integer, "neighbours of a node"),
    key("rewiring", Number, "chance that an edge of a small world is redirected"),
    key("radius", Number, "how far a node is heard in the unit square"),
    key("rows", Integer, "of a grid or torus"),
    key("columns", Integer, "of a grid or torus"),
    key("dimension", Integer, "of a hypercube"),
    key("clique", Integer, "nodes of each of two cliques"),
    key("edges", List(&List(&Integer)), "a graph of one's own: pairs of who is heard, who hears"),
    key("directed", Boolean, "whether edges of one's own are heard one way only"),
    key("connected", Boolean, "whether everybody has to reach everybody"),
];

pub const FAMILIES: &[&str] = &[
    "complete",
    "directed-erdos-renyi",
    "edges",
    "erdos-renyi",
    "erdos-renyi-minus-two",
    "exponential",
    "geometric",
    "grid",
    "hypercube",
    "in-regular",
    "out-regular",
    "path",
    "random-regular",
    "ring",
    "small-world",
    "star",
    "torus",
    "two-cliques",
];

/// Numbers, records that are drawn, and recipes together; which go together is checked later.
pub const DATA: &[Key] = &[
    key("source", Words(SOURCES), "where numbers or records are drawn from"),
    key("dimension", Integer, "numbers of a record that is averaged"),
    key("records", Integer, "of a node that averages; of all nodes that learn"),
    key("low", Number, "of uniform numbers"),
    key("high", Number, "of uniform numbers"),
    key("mean", Number, "of truncated Gaussian numbers"),
    key("radius", Number, "of truncated Gaussian numbers"),
    key("values", List(&List(&Number)), "the numbers themselves, a row for each node"),
    key("holdout", HOLDOUT, "so many records at the end are held out, or one in so many"),
    key("protected", Table(PROTECTED), "the attribute whose groups are to be treated alike"),
    key("bias", Number, "how unjust incomes of the census are"),
    key("image", List(&Integer), "channels, rows and columns of images"),
    key("features", Integer, "numbers of a record"),
    key("classes", Integer, "of a mixture"),
    key("separation", Number, "of a mixture"),
    key("split", SPLIT, "how records are dealt to nodes; evenly if not given"),
    key("recipe", Text, "a recipe of ours, see `undertone data recipes`"),
    key("file", Text, "a file of records"),
    key("files", List(&Text), "several files, one after the other"),
    key("labels", Text, "the file or array of labels"),
    key("test", Text, "a file of records that are held out"),
    key("test-labels", Text, "the labels of those"),
    key("member", Text, "the member of an archive"),
    key("test-member", Text, "the member that is held out"),
    key("format", Text, "guessed if not given"),
    key("delimiter", Text, "between cells"),
    key("header", Boolean, "whether the first line names the columns"),
    key("skip-lines", Integer, "lines at the top that are not read"),
    key("comment", Text, "lines that begin so are not read"),
    key("columns", List(&Table(COLUMN)), "what each column is"),
    key("others", Words(&["drop", "number", "refuse"]), "columns that are not listed"),
    key("missing", Words(MISSING), "what becomes of missing values"),
    key("missing-words", List(&Text), "words for a missing value"),
    key("scaling", Words(&["declared", "from-data", "none"]), "where bounds come from"),
    key("max", Number, "of arrays: every number is clamped to this size"),
    key("words", Integer, "the size of a hashed vocabulary"),
    key("tags", List(&Text), "the tags of a text"),
    key("target", Table(TARGET), "what is to be predicted"),
    key("clip-rows", Number, "the norm that no record exceeds"),
    key("unit-rows", Boolean, "whether every record has exactly that norm"),
    key("layout", Words(&["dense", "sparse"]), "how records lie in memory"),
];

pub const SOURCES: &[&str] =
    &["census", "gaussian-mixture", "images", "linear-regression", "truncated-gaussian", "uniform"];
const MISSING: &[&str] = &["category", "drop", "refuse", "zero"];
const HOLDOUT: Shape =
    Either(&[Integer, Table(&[needed("every", Integer, "one in so many is held out")])]);
const SPLIT: Shape = Either(&[Words(&["even", "group"]), Open]);

pub const COLUMN: &[Key] = &[
    key("name", Text, "as in the header"),
    key("kind", Words(&["category", "drop", "group", "number", "target"]), "what it is"),
    key("low", Number, "of a number: becomes 0"),
    key("high", Number, "of a number: becomes 1"),
    key("max", Number, "of a number, instead: its largest size"),
    key("values", List(&Text), "all values of a category or group"),
    key("reference", Text, "the value without a feature"),
    key("ignore-others", Boolean, "whether values that are not listed are all zero"),
    key("feature", Boolean, "whether a group is a feature as well"),
    key("missing", Words(MISSING), "the policy of this column"),
    key("repeat", Integer, "so many columns of this kind"),
];

pub const PROTECTED: &[Key] = &[
    needed("column", Text, "its name"),
    key("against", Either(&[Text, List(&Text)]), "of words: these are one group, all others one"),
    key("below", Number, "of numbers: those below are one group, all others one"),
    key("feature", Boolean, "whether it is a feature as well"),
];

pub const TARGET: &[Key] = &[
    key("kind", Words(&["class", "none", "real", "sign"]), "follows from the others"),
    key("positive", Either(&[Text, List(&Text)]), "the words for 1"),
    key("values", List(&Text), "all classes, in their order"),
    key("trim", Text, "what is cut off the end of a word"),
    key("low", Number, "of a number: becomes -1"),
    key("high", Number, "of a number: becomes 1"),
];

const MODEL: &[Key] = &[
    needed("kind", Words(KINDS), "what is learned"),
    key("intercept", Boolean, "whether a constant is learned as well"),
    key("features", Integer, "follows from the records"),
    key("classes", Integer, "follows from the records"),
    key("tags", Integer, "follows from the records"),
    key("width", Number, "of a smoothed hinge"),
    key("hidden", List(&Integer), "widths of hidden layers"),
    key("activation", Words(&["relu", "sigmoid", "tanh"]), "between layers"),
    key("stem", Any, "of a resnet18"),
    key("layers", List(&Any), "of a network"),
    key("method", Words(&["adfc", "fm", "pdfc", "pflr", "rfm"]), "of a fair classifier"),
    key("printed", Boolean, "of a fair classifier: as paper 000 prints it"),
    key("alpha", Number, "the weight of unfairness"),
    key("weight", Number, "of the square of the covariance of group and score"),
    key("share", Number, "what part of all people is in the second group"),
    key("tau", Number, "what the covariance is to be"),
    key("ridge", Number, "added to the mean curvature"),
    key("signed", Boolean, "whether features may be negative"),
    key("special", List(&Integer), "columns with more noise"),
    key("special-noise", Number, "how many times more"),
];

pub const KINDS: &[&str] = &[
    "cnn",
    "fair-logistic",
    "linear",
    "logistic",
    "mlp",
    "network",
    "parity-logistic",
    "resnet18",
    "smoothed-hinge",
    "softmax",
    "tags",
];

pub const ALGORITHM: &[Key] = &[
    needed("name", Words(ALGORITHMS), "see `undertone algorithms`"),
    key("sparsity", Number, "the share of coordinates that is not sent"),
    key("gamma", Number, "the share of the surplus that is put back"),
    key("window", Integer, "after how many rounds"),
    key("steps", Integer, "gradient steps before averaging"),
    key("printed", Boolean, "whether it runs as its paper prints it"),
    key("step", STEP, "how far a gradient step goes"),
    key("batch", Integer, "records of a batch, on average"),
    key("sampling", Words(&["fixed-size", "full", "poisson", "single"]), "how it is drawn"),
    key("rounds-of-gradients", Integer, "after which nodes only mix"),
    key("momentum", Number, "how much of the last step is taken again"),
    key("bits", Integer, "of a quantised number"),
    key("lattice", Number, "the distance of neighbouring quantised numbers"),
    key("pace", Number, "the share of a change that is carried out"),
    key("transmit", Number, "the chance of a coordinate to be sent"),
    key("deadline", Open, "batches of as many records as there is time for"),
    key("domain", Open, "where the points of a model stay: { ball = R } or { box = R }"),
    key("admm", Table(ADMM), "what ADMM and its relatives take"),
];

const STEP: Shape = Either(&[Number, Words(&["000", "003"]), Table(STEPS)]);
const STEPS: &[Key] = &[
    needed("first", Number, "the first"),
    key("power", Number, "first/(k + 1)^power in round k"),
    key("horizon", Number, "always first/K^horizon in K rounds"),
];

pub const ALGORITHMS: &[&str] = &[
    "admm",
    "adp2-sgd",
    "dp2-sgd",
    "dsgd",
    "dvp",
    "gossip",
    "ipp-admm",
    "m-admm",
    "mr-admm",
    "pp-admm",
    "pr-admm-iteration",
    "pr-admm-periodic",
    "priv-sgp",
    "priv-sgp-vr",
    "private-mr-admm",
    "private-r-admm",
    "push-sum",
    "q-dpsgd-1",
    "q-dpsgd-2",
    "r-admm",
    "running-sum",
    "sdm",
    "sparse-push-sum",
    "surplus",
    "surplus-gradient",
    "two-stage",
];

pub const ADMM: &[Key] = &[
    needed("penalty", Either(&[Number, List(&Number)]), "eta, or one for each node"),
    key("growth", Number, "times so much from one iteration to the next"),
    key("dual-step", Number, "in place of the penalty in the dual step"),
    needed("ridge", Number, "every node adds ridge/2 |x|^2"),
    key("weight", Number, "of the losses of a node"),
    key("tolerance", Number, "minima are solved to gradients of this norm"),
    key("gamma", Number, "of recycled steps"),
    key("check-condition", Boolean, "refuse the plan unless recycled steps converge"),
    key("ignore-beyond", Number, "neighbours farther away are ignored"),
    key("threshold", Number, "by how much losses have to fall to be sent"),
    key("period", Integer, "the variance falls after so many rounds"),
    key("ratio", Number, "what the variance is multiplied by"),
    key("decay", Number, "R_T of PR-ADMM"),
    key("mode", Words(&["objective", "output"]), "where the noise of PP-ADMM is"),
    key("cutoff", Integer, "how often a node may send"),
    key("loss-clip", Number, "losses are cut to this before they are compared"),
    key("test-share", Number, "the share of epsilon for comparisons"),
    key("slope", Number, "the largest derivative of a squared loss"),
];

pub const PRIVACY: &[Key] = &[
    key("epsilon", Number, "the budget; not given if the noise is"),
    needed("delta", Number, "the budget"),
    needed("clip", Either(&[Number, Table(CLIP)]), "a norm of gradients, or a set of records"),
    needed("noise", Either(&[Words(&["paper", "sound"]), Table(NOISE)]), "how it is chosen"),
    key("adjacency", Words(&["add-remove", "replace"]), "which data sets are neighbours"),
    key("node", List(&Table(BUDGET)), "nodes with budgets of their own"),
];

const CLIP: &[Key] = &[
    key("clip", Words(&["ball", "box"]), "the set of records"),
    key("radius", Number, "of the set"),
    key("start", Number, "of a norm that adapts: the first"),
    key("quantile", Number, "the share of gradients that are not clipped"),
    key("rate", Number, "how fast it follows"),
    key("noise", Number, "in the count, in records"),
];
const NOISE: &[Key] = &[needed("sigma", Number, "the standard deviation; 0 is no guarantee")];
pub const BUDGET: &[Key] = &[
    needed("node", Integer, "whose"),
    needed("epsilon", Number, "the budget"),
    needed("delta", Number, "the budget"),
];

pub const RUN: &[Key] = &[
    needed("rounds", Integer, "at most so many"),
    needed("precision", Words(&["f32", "f64"]), "the numbers of states and messages"),
    key("stop-below", Number, "stop when the first metric is below"),
    key("stop-on-budget", Boolean, "whether nodes step until their ledgers refuse"),
    key("repeat", Integer, "with so many seeds"),
];

pub const ROUNDS: &[Key] = &[
    key("deadline", Number, "how long to wait for messages, in seconds"),
    key("quorum", Number, "the share without which a round does not end"),
    key("witnesses", Integer, "how many hearers a node asks when it starts"),
];

pub const WORLD: &[Key] = &[
    key("links", Open, "how messages travel"),
    key("compute", Open, "how long answers take"),
    key("faults", Open, "what goes wrong"),
    key("deadline", Number, "how long a node waits for messages"),
    key("seed", Integer, "of all that is random there"),
];

pub const EVALUATE: &[Key] = &[
    key("every", Integer, "after every so many rounds"),
    needed("metrics", List(&Words(METRICS)), "what"),
    key("target", Words(&["data", "released"]), "what residuals are measured from"),
];

pub const METRICS: &[&str] = &[
    "accuracy",
    "average-accuracy",
    "consensus-error",
    "disparate-impact",
    "equal-opportunity",
    "equalised-odds",
    "group-accuracy",
    "loss",
    "mean-error",
    "node-accuracy",
    "node-error",
    "node-loss",
    "relative-residual",
    "residual",
    "risk-difference",
];

pub const VARY: &[Key] = &[
    needed("key", Either(&[Text, List(&Text)]), "as algorithm.sparsity, or several together"),
    needed("values", List(&Any), "what it becomes, one after the other"),
    key("names", List(&Text), "what to call each of them"),
];

pub const EXPECTED: &[Key] = &[
    key("why", Text, "for people"),
    needed("metric", Text, "a metric, epsilon or claimed-epsilon"),
    key("at", Either(&[Integer, Words(&["last", "rounds-run"])]), "when; last if not given"),
    key("slope-of-log", List(&Integer), "instead of a value: between two rounds"),
    key("where", Open, "which variants; all if not given"),
    key("of", Open, "the variant above the line of a ratio"),
    key("over", Open, "the variant below it"),
    key("min", Number, "at least"),
    key("max", Number, "at most"),
];

pub const CHART: &[Key] = &[
    needed("x", Text, "round, time, a varied key or a metric"),
    needed("y", Text, "a metric, or rounds-run"),
    key("log-x", Boolean, "whether the horizontal axis is logarithmic"),
    key("log-y", Boolean, "whether the vertical axis is"),
];

pub const PLANNING: &[Key] = &[
    key("smoothness", Number, "L: how fast the gradient changes"),
    key("gap", Number, "f(x0) - f*"),
    key("heterogeneity", Number, "b^2: how far nodes' gradients are from that of all"),
    key("variance", Number, "the mean squared norm of one record's gradient"),
    key("constant", Number, "c2 of 003 theorem 2"),
    key("estimate", Any, "where those come from that are not given"),
    key("least-rounds", Integer, "the fewest rounds that are tried"),
    key("most-rounds", Integer, "the most"),
    key("points", Integer, "how many numbers of rounds are tried"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde::de::DeserializeOwned;
    use serde_json::json;
    use undertone_data::Recipe;
    use undertone_data::recipe::{ColumnPlan, TargetPlan};
    use undertone_graph::Family;
    use undertone_node::plan::{
        AdmmPlan, AlgorithmPlan, AlgorithmWord, ChartPlan, DrawnPlan, DrawnWord, EvaluatePlan,
        Expected, Metric, NetworkPlan, NodeBudget, NumbersPlan, Plan, PlanningPlan, PrivacyPlan,
        RoundsPlan, RunPlan, ScheduleWord, SourceWord, Vary, WeightsWord,
    };
    use undertone_sim::World;

    use super::*;

    /// The keys that a reader takes, as its complaint about another one lists them.
    fn taken<T: DeserializeOwned>() -> BTreeSet<String> {
        let error = serde_json::from_value::<T>(json!({ "?": 0 })).err().unwrap().to_string();
        listed(&error)
    }

    fn words<T: DeserializeOwned>() -> BTreeSet<String> {
        listed(&serde_json::from_value::<T>(json!("?")).err().unwrap().to_string())
    }

    fn listed(error: &str) -> BTreeSet<String> {
        error.split('`').skip(3).step_by(2).map(String::from).collect()
    }

    fn names(keys: &[Key]) -> BTreeSet<String> {
        keys.iter().map(|key| key.name.to_string()).collect()
    }

    fn set(words: &[&str]) -> BTreeSet<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn keys_are_those_that_plans_are_read_by() {
        assert_eq!(names(PLAN), taken::<Plan>());
        assert_eq!(names(NETWORK), taken::<NetworkPlan>());
        assert_eq!(names(ALGORITHM), taken::<AlgorithmPlan>());
        assert_eq!(names(ADMM), taken::<AdmmPlan>());
        assert_eq!(names(PRIVACY), taken::<PrivacyPlan>());
        assert_eq!(names(BUDGET), taken::<NodeBudget>());
        assert_eq!(names(RUN), taken::<RunPlan>());
        assert_eq!(names(ROUNDS), taken::<RoundsPlan>());
        assert_eq!(names(EVALUATE), taken::<EvaluatePlan>());
        assert_eq!(names(VARY), taken::<Vary>());
        assert_eq!(names(EXPECTED), taken::<Expected>());
        assert_eq!(names(CHART), taken::<ChartPlan>());
        assert_eq!(names(PLANNING), taken::<PlanningPlan>());
        assert_eq!(names(WORLD), taken::<World>());
        assert_eq!(names(COLUMN), taken::<ColumnPlan>());
        assert_eq!(names(TARGET), taken::<TargetPlan>());
        let mut data = taken::<NumbersPlan>();
        data.extend(taken::<DrawnPlan>());
        data.extend(taken::<Recipe>());
        assert_eq!(names(DATA), data);
    }

    #[test]
    fn words_are_those_that_plans_are_read_by() {
        assert_eq!(set(ALGORITHMS), words::<AlgorithmWord>());
        assert_eq!(set(METRICS), words::<Metric>());
        assert_eq!(set(SCHEDULES), words::<ScheduleWord>());
        assert_eq!(set(WEIGHTS), words::<WeightsWord>());
        let mut sources = words::<DrawnWord>();
        sources.extend(words::<SourceWord>());
        assert_eq!(set(SOURCES), sources);
        let family = serde_json::from_value::<Family>(json!({ "family": "?" }));
        assert_eq!(set(FAMILIES), listed(&family.err().unwrap().to_string()));
    }
}
