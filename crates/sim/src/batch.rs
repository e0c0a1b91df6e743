//! All variants and repetitions of a plan.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use undertone_node::Experiment;
use undertone_node::plan::Variant;
use undertone_privacy::ledger::Guarantee;
use undertone_trace::Trace;

use crate::run::{Point, Run, RunError, Watch, claims, run};

/// A variant with its results.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Which.
    pub variant: Variant,
    /// A run for each repetition.
    pub runs: Vec<Traced>,
}

/// A run and its trace.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The run.
    pub run: Run,
    /// Its lines.
    pub lines: Vec<u8>,
    /// Their hash.
    pub hash: String,
}

/// Where runs are kept that are over, so that nobody has to do them again.
pub trait Shelf: Sync {
    /// A run of a variant with a seed that was kept.
    fn find(&self, variant: &Variant, experiment: &Experiment, seed: u64) -> Option<Traced>;

    /// Keeps a run; called once for each, by any thread, when it is over.
    fn keep(&self, variant: &Variant, experiment: &Experiment, traced: &Traced);
}

/// Nothing is kept.
impl Shelf for () {
    fn find(&self, _: &Variant, _: &Experiment, _: u64) -> Option<Traced> {
        None
    }

    fn keep(&self, _: &Variant, _: &Experiment, _: &Traced) {}
}

/// Runs everything, on the threads of the present pool. `progress` gets the share that is done.
pub fn run_all(
    experiments: &[(Variant, Experiment)],
    progress: &(dyn Fn(f64) + Sync),
) -> Result<Vec<Outcome>, RunError> {
    run_rest(experiments, &(), progress)
}

/// Runs everything that is not on a shelf.
pub fn run_rest(
    experiments: &[(Variant, Experiment)],
    shelf: &impl Shelf,
    progress: &(dyn Fn(f64) + Sync),
) -> Result<Vec<Outcome>, RunError> {
    let jobs: Vec<(usize, u64)> = experiments
        .iter()
        .enumerate()
        .flat_map(|(index, (_, experiment))| experiment.seeds().map(move |seed| (index, seed)))
        .collect();
    let total: u64 = jobs.iter().map(|(index, _)| experiments[*index].1.plan().run.rounds).sum();
    let done = AtomicU64::new(0);
    let advance = |rounds: u64| {
        let before = done.fetch_add(rounds, Ordering::Relaxed);
        progress((before + rounds) as f64 / total as f64);
    };
    let traced: Vec<Traced> = jobs
        .par_iter()
        .map(|(index, seed)| {
            let (variant, experiment) = &experiments[*index];
            if let Some(mut found) = shelf.find(variant, experiment, *seed) {
                found.run.claims = claims(experiment);
                advance(experiment.plan().run.rounds);
                return Ok::<_, RunError>(found);
            }
            let traced = traced(experiment, *seed, &advance)?;
            shelf.keep(variant, experiment, &traced);
            Ok(traced)
        })
        .collect::<Result<_, _>>()?;
    let mut outcomes: Vec<Outcome> = experiments
        .iter()
        .map(|(variant, _)| Outcome { variant: variant.clone(), runs: Vec::new() })
        .collect();
    for ((index, _), traced) in jobs.into_iter().zip(traced) {
        outcomes[index].runs.push(traced);
    }
    Ok(outcomes)
}

/// Rounds between two words about progress: often enough for eyes.
const STRIDE: u64 = 64;

fn traced(
    experiment: &Experiment,
    seed: u64,
    advance: &(dyn Fn(u64) + Sync),
) -> Result<Traced, RunError> {
    let mut trace = Trace::new(Vec::new());
    let mut told = 0;
    let run = run(
        experiment,
        seed,
        &mut Watch {
            record: &mut |record| trace.write(&record).expect("a vector takes every byte"),
            progress: &mut |round, _| {
                if round >= told + STRIDE {
                    advance(round - told);
                    told = round;
                }
            },
        },
    )?;
    // A run that stopped early is done, too.
    advance(experiment.plan().run.rounds - told);
    let hash = trace.hash();
    Ok(Traced { run, lines: trace.into_inner(), hash })
}

impl Outcome {
    /// What was measured, averaged over the repetitions, as far as all of them went.
    pub fn points(&self) -> Vec<Point> {
        let count = self.runs.len() as f64;
        let shortest = self.runs.iter().map(|traced| traced.run.points.len()).min().unwrap_or(0);
        (0..shortest)
            .map(|k| {
                let mut point = self.runs[0].run.points[k].clone();
                let times = self.runs.iter().map(|r| r.run.points[k].time);
                point.time = times.sum::<Option<f64>>().map(|sum| sum / count);
                for (name, value) in &mut point.metrics {
                    let sum: f64 = self.runs.iter().map(|r| r.run.points[k].metrics[name]).sum();
                    *value = sum / count;
                }
                point
            })
            .collect()
    }

    /// The last value of a metric, averaged over the repetitions, however long each was.
    pub fn last(&self, metric: &str) -> Option<f64> {
        self.mean(|run| run.points.last().and_then(|point| point.metrics.get(metric).copied()))
    }

    /// The number of rounds, averaged.
    pub fn rounds(&self) -> f64 {
        self.mean(|run| Some(run.rounds as f64)).unwrap_or(0.0)
    }

    /// The number of messages, averaged.
    pub fn messages(&self) -> f64 {
        self.mean(|run| Some(run.traffic.messages as f64)).unwrap_or(0.0)
    }

    /// The number of bytes, averaged.
    pub fn bytes(&self) -> f64 {
        self.mean(|run| Some(run.traffic.bytes as f64)).unwrap_or(0.0)
    }

    /// The weakest promise of any ledger; promises do not depend on the repetition.
    pub fn weakest(&self) -> Option<&Guarantee> {
        let guarantees = &self.runs.first()?.run.guarantees;
        guarantees.iter().max_by(|a, b| a.epsilon.get().total_cmp(&b.epsilon.get()))
    }

    fn mean(&self, value: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
        let values: Option<Vec<f64>> = self.runs.iter().map(|traced| value(&traced.run)).collect();
        values.map(|values| values.iter().sum::<f64>() / values.len() as f64)
    }
}
