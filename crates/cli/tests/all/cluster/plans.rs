//! What nodes do in tests of the network.

pub const CONSENSUS: &str = r#"
[data]
source = "uniform"
low = -1.0
high = 1.0
dimension = 3

[algorithm]
name = "push-sum"

[privacy]
epsilon = 1.0
delta = 1e-5
clip = { clip = "box", radius = 1.0 }
noise = "sound"

[evaluate]
metrics = ["mean-error"]
"#;

pub const LEARNING: &str = r#"
[data]
source = "census"
records = 4000

[model]
kind = "logistic"
intercept = true

[algorithm]
name = "priv-sgp"
step = 2.0
batch = 10
sampling = "poisson"

[privacy]
delta = 1e-5
clip = 1.0
noise = { sigma = 0.5 }             # given, not searched for: every restart would search again

[evaluate]
metrics = ["loss"]
"#;

/// Without rounds, over a ring.
pub fn meetings(nodes: u32, activations: u64) -> String {
    let body = LEARNING.replace("priv-sgp", "adp2-sgd").replace("step = 2.0", "step = 0.5");
    let ring = "schedule = \"fixed\"\ntopology = { family = \"ring\" }";
    plan(&body, nodes, activations, "f64").replace("schedule = \"exponential\"", ring)
}

/// A plan for so many nodes and rounds.
pub fn plan(body: &str, nodes: u32, rounds: u64, precision: &str) -> String {
    format!(
        "name = \"net\"\nseed = 7\n[network]\nnodes = {nodes}\nschedule = \"exponential\"\n\
         [run]\nrounds = {rounds}\nprecision = \"{precision}\"\n{body}"
    )
}
