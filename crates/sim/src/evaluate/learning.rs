//! How good models are: that of the mean of all estimates, and that of the worst node.

use undertone_model::fair::Groups;
use undertone_model::measure::accuracy;
use undertone_model::{Batch, Dataset, Scratch};
use undertone_node::plan::Metric;
use undertone_node::{Experiment, Problem};
use undertone_real::Real;

use super::{Estimate, Metrics, mean, residual};

/// All metrics that are wanted.
pub(super) fn measure<'a, P, R, I>(experiment: &Experiment, wanted: &[Metric], nodes: I) -> Metrics
where
    P: Estimate<R> + 'a,
    R: Real,
    I: IntoIterator<Item = &'a P> + Clone,
{
    let problem = experiment.problem().expect("the experiment has a model");
    let mean = mean(nodes.clone(), experiment.dimension());
    let parameters = |estimate: Vec<f64>| -> Vec<R> {
        experiment.parameters(estimate).into_iter().map(R::from_f64).collect()
    };
    let middle = parameters(mean.clone());
    let mut look = Look { problem, scratch: Scratch::default(), scores: Vec::new() };
    let (mut highest_loss, mut lowest_accuracy) = (f64::NEG_INFINITY, f64::INFINITY);
    let (mut sum, mut count) = (0.0, 0.0);
    let losses = wanted.contains(&Metric::NodeLoss);
    let accuracies = [Metric::AverageAccuracy, Metric::NodeAccuracy];
    let accuracies = accuracies.iter().any(|metric| wanted.contains(metric));
    if losses || accuracies {
        let mut estimate = vec![R::ZERO; mean.len()];
        for node in nodes.clone() {
            node.estimate(&mut estimate);
            let own = parameters(estimate.iter().map(|v| v.to_f64()).collect());
            if losses {
                highest_loss = highest_loss.max(look.loss(&own));
            }
            if accuracies {
                let own = look.accuracy(&own);
                lowest_accuracy = lowest_accuracy.min(own);
                (sum, count) = (sum + own, count + 1.0);
            }
        }
    }
    let fairness = wanted.iter().any(|metric| metric.is_fairness());
    let groups = if fairness { look.groups(&middle) } else { Groups::default() };
    let mut measure = |metric: &Metric| match metric {
        Metric::DisparateImpact => groups.disparate_impact(QUANTILE).value,
        Metric::EqualOpportunity => groups.equal_opportunity(QUANTILE).value.abs(),
        Metric::EqualisedOdds => groups.equalised_odds(QUANTILE).value,
        Metric::GroupAccuracy => {
            groups.accuracy(0, QUANTILE).value.min(groups.accuracy(1, QUANTILE).value)
        }
        Metric::RiskDifference => groups.risk_difference(QUANTILE).value.abs(),
        Metric::Accuracy => look.accuracy(&middle),
        Metric::AverageAccuracy => sum / count,
        Metric::ConsensusError => residual(nodes.clone(), &mean),
        Metric::Loss => look.loss(&middle),
        Metric::NodeAccuracy => lowest_accuracy,
        Metric::NodeLoss => highest_loss,
        Metric::MeanError | Metric::NodeError | Metric::RelativeResidual | Metric::Residual => {
            unreachable!("a checked plan with a model has none of these")
        }
    };
    wanted.iter().map(|metric| (metric.name().to_string(), measure(metric))).collect()
}

/// Of intervals, which a mean over repetitions does not use.
const QUANTILE: f64 = 1.96;

struct Look<'a, R: Real> {
    problem: Problem<'a, R>,
    scratch: Scratch<R>,
    /// Memory for the scores of a part.
    scores: Vec<R>,
}

/// Records that are looked at together, so that little memory is needed.
const PART: usize = 1024;

impl<R: Real> Look<'_, R> {
    /// The mean over all training records.
    fn loss(&mut self, x: &[R]) -> f64 {
        let data = self.problem.train;
        self.problem.objective.loss(x, Batch::all(data), &mut self.scratch) / data.records() as f64
    }

    /// The share of held-out records that are predicted; of training records if none is held out.
    fn accuracy(&mut self, x: &[R]) -> f64 {
        let data: &Dataset<R> = self.problem.test.unwrap_or(self.problem.train);
        let objective = &*self.problem.objective;
        let outputs = objective.outputs();
        let all: Vec<usize> = (0..data.records()).collect();
        let right = |part: &[usize]| {
            let batch = Batch::of(data, part);
            self.scores.resize(part.len() * outputs, R::ZERO);
            objective.scores(x, batch, &mut self.scratch, &mut self.scores);
            // A count, though it comes as a share.
            (accuracy(&self.scores, batch) * part.len() as f64).round()
        };
        all.chunks(PART).map(right).sum::<f64>() / data.records() as f64
    }

    /// How records of each group are predicted.
    fn groups(&mut self, x: &[R]) -> Groups {
        let data: &Dataset<R> = self.problem.test.unwrap_or(self.problem.train);
        let objective = &*self.problem.objective;
        self.scores.resize(data.records() * objective.outputs(), R::ZERO);
        objective.scores(x, Batch::all(data), &mut self.scratch, &mut self.scores);
        Groups::count(&self.scores, Batch::all(data))
    }
}
