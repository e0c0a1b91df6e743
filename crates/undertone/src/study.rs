//! From a plan to its outcomes.

use serde_json::Value;
use undertone_node::plan::{Plan, PlanError, Variant, expand, overlay};
use undertone_node::{Experiment, OwnObjective, Records};
use undertone_sim::{Outcome, RunError, run_all, world_of};

/// A plan, with what no plan can say: records and an objective of one's own.
///
/// ```
/// use undertone::Study;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let text = r#"
/// name = "three-budgets"
/// seed = 7
/// network = { nodes = 4, schedule = "fixed", topology = { family = "ring" } }
/// data = { source = "uniform", low = -1.0, high = 1.0, dimension = 2, records = 100 }
/// algorithm = { name = "push-sum" }
/// run = { rounds = 30, precision = "f64" }
/// evaluate = { metrics = ["consensus-error"] }
/// vary = [{ key = "privacy.epsilon", values = [0.5, 1.0, 2.0] }]
/// [privacy]
/// epsilon = 1.0
/// delta = 1e-6
/// clip = { clip = "box", radius = 1.0 }
/// noise = "sound"
/// "#;
/// let study = Study::from_toml(text)?.set("run.rounds", 20)?;
/// for outcome in study.run()? {
///     println!("{}: {:?}", outcome.variant.label(), outcome.last("consensus-error"));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Study {
    plan: Value,
    records: Option<Records>,
    objective: Option<OwnObjective>,
}

/// Why a study has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The text is no TOML, or a key or a word in it does not exist.
    #[error("{0}")]
    Text(#[from] toml::de::Error),
    /// A number is out of range, or parts of the plan do not go together.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// It began and did not end.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Study {
    /// Of a plan as it is written in a file.
    ///
    /// ```
    /// use undertone::Study;
    ///
    /// let error = Study::from_toml("name = \"x\"\nsede = 1").err().unwrap().to_string();
    /// assert!(error.contains("unknown field `sede`"), "{error}");
    /// ```
    pub fn from_toml(text: &str) -> Result<Self, StudyError> {
        // Read as a plan first: only then does an error know its line.
        toml::from_str::<Plan>(text)?;
        Ok(Self::of(toml::from_str(text)?))
    }

    /// Of a plan that was put together in code, with the keys that a file has.
    ///
    /// ```
    /// use undertone::Study;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let study = Study::from_json(serde_json::json!({
    ///     "name": "ring", "seed": 1,
    ///     "network": { "nodes": 5, "schedule": "fixed", "topology": { "family": "ring" } },
    ///     "data": { "dimension": 1, "values": [[1.0], [2.0], [3.0], [4.0], [5.0]] },
    ///     "algorithm": { "name": "push-sum" },
    ///     "run": { "rounds": 60, "precision": "f64" },
    ///     "evaluate": { "metrics": ["residual"] },
    /// }))?;
    /// assert!(study.run()?[0].last("residual").is_some_and(|left| left < 1e-6));
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_json(plan: Value) -> Result<Self, StudyError> {
        expand(&plan)?;
        Ok(Self::of(plan))
    }

    /// Of a plan.
    pub fn new(plan: &Plan) -> Self {
        Self::of(serde_json::to_value(plan).expect("a plan is plain data"))
    }

    fn of(plan: Value) -> Self {
        Self { plan, records: None, objective: None }
    }

    /// Puts a value at a key of the plan, such as `privacy.epsilon`.
    pub fn set(mut self, key: &str, value: impl Into<Value>) -> Result<Self, StudyError> {
        overlay(&mut self.plan, key, value.into())?;
        expand(&self.plan)?;
        Ok(self)
    }

    /// Learns from these records, in place of those that `[data]` describes, which then says at
    /// most how they are dealt to nodes: `split`.
    ///
    /// They are dealt to the nodes of the simulation; nothing of them leaves a node but what its
    /// ledger paid for.
    pub fn with_records(mut self, records: impl Into<Records>) -> Self {
        self.records = Some(records.into());
        self
    }

    /// Minimises this objective; the plan has `model = { kind = "own" }`.
    ///
    /// Gradient algorithms take it. ADMM does not: its guarantee needs to know the curvature.
    ///
    /// ```
    /// use undertone::model::dataset::{Dataset, Features, Target, Targets};
    /// use undertone::{Examples, PerRecord, RecordLoss, Study};
    ///
    /// /// Half the squared distance: its minimum is the mean of the records.
    /// struct Distance;
    ///
    /// impl RecordLoss<f64> for Distance {
    ///     fn dimension(&self) -> usize {
    ///         1
    ///     }
    ///     fn loss(&self, x: &[f64], features: &[f64], _: Target<'_, f64>) -> f64 {
    ///         (x[0] - features[0]).powi(2) / 2.0
    ///     }
    ///     fn gradient(&self, x: &[f64], features: &[f64], _: Target<'_, f64>, out: &mut [f64]) {
    ///         out[0] = x[0] - features[0];
    ///     }
    ///     fn score(&self, x: &[f64], _: &[f64]) -> f64 {
    ///         x[0]
    ///     }
    /// }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let values: Vec<f64> = (0..400).map(|k| f64::from(k % 4)).collect(); // the mean is 1.5
    /// let train = Dataset::new(Features::Dense { width: 1, values }, Targets::None)?;
    /// let study = Study::from_toml(
    ///     r#"
    ///     name = "own"
    ///     seed = 1
    ///     network = { nodes = 4, schedule = "exponential" }
    ///     data = {}
    ///     model = { kind = "own" }
    ///     algorithm = { name = "priv-sgp", step = 0.3, sampling = "full" }
    ///     privacy = { epsilon = 4.0, delta = 1e-5, clip = 1.0, noise = "sound" }
    ///     run = { rounds = 30, precision = "f64" }
    ///     evaluate = { metrics = ["loss"] }
    ///     "#,
    /// )?
    /// .with_records(Examples { train, test: None, split: None })
    /// .with_objective(PerRecord::new(Distance));
    /// // The variance of the records, halved, is the least that any x can have: 0.625.
    /// assert!(study.run()?[0].last("loss").is_some_and(|loss| loss < 0.7));
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_objective(mut self, objective: impl Into<OwnObjective>) -> Self {
        self.objective = Some(objective.into());
        self
    }

    /// Checks every variant of the plan, and prices it, without running anything.
    pub fn experiments(&self) -> Result<Vec<(Variant, Experiment)>, StudyError> {
        let check = |variant: Variant| {
            let (plan, records) = (&variant.plan, self.records.clone());
            let experiment = match &self.objective {
                Some(own) => Experiment::with_objective(plan, records, own.clone())?,
                None => Experiment::new(plan, records)?,
            };
            world_of(&experiment)?;
            Ok((variant, experiment))
        };
        expand(&self.plan)?.into_iter().map(check).collect()
    }

    /// Runs all variants, each as often as the plan says, on all cores. The same study always has
    /// the same outcomes.
    ///
    /// A guarantee is that of one run. Whoever shows several runs on the same records, variants
    /// included, pays for each.
    pub fn run(&self) -> Result<Vec<Outcome>, StudyError> {
        Ok(run_all(&self.experiments()?, &|_| ())?)
    }
}
