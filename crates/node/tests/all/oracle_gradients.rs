//! Gradients through the door: what an oracle answers to algorithms that descend, and its price.
use std::sync::Arc;

use undertone_graph::{Family, NodeId, Schedule, Weights};
use undertone_model::dataset::{Features, Targets};
use undertone_model::{
    Batch, Clipped, Dataset, Linear, Loss, MeanEstimation, Objective, Scratch, Table, Tabled,
};
use undertone_node::{
    AdaptiveClip, Noise, Oracle, OracleError, Private, PrivateGradients, PrivateSteps, TableError,
};
use undertone_privacy::accountant::{Accountant, gaussian_size, renyi};
use undertone_privacy::event::Event;
use undertone_privacy::ledger::{Budget, Filter, Header, Ledger};
use undertone_privacy::noise::Key;
use undertone_privacy::release::Released;
use undertone_privacy::sampler::{FixedSizeSampler, PoissonSampler, Sampler};
use undertone_privacy::units::{
    Adjacency, ClipNorm, Delta, Epsilon, Order, Probability, Scale, Unit,
};
use undertone_protocol::{
    Answer, Domain, Mail, PrivSgp, Question, StepSize, Steps, Synchronous, Topology, TwoStage,
};
use undertone_real::Real;

/// Half the squared distances to the records, with a table of whole gradients.
pub(crate) struct Distances(MeanEstimation);

impl<R: Real> Objective<R> for Distances {
    fn dimension(&self) -> usize {
        Objective::<R>::dimension(&self.0)
    }

    fn loss(&self, x: &[R], batch: Batch<'_, R>, scratch: &mut Scratch<R>) -> f64 {
        self.0.loss(x, batch, scratch)
    }

    fn clipped_sum(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        clip: f64,
        scratch: &mut Scratch<R>,
        out: &mut [R],
    ) -> Clipped {
        self.0.clipped_sum(x, batch, clip, scratch, out)
    }

    fn outputs(&self) -> usize {
        1
    }

    fn scores(&self, x: &[R], batch: Batch<'_, R>, scratch: &mut Scratch<R>, out: &mut [R]) {
        self.0.scores(x, batch, scratch, out);
    }
}

impl<R: Real> Tabled<R> for Distances {
    fn entry(&self) -> usize {
        Objective::<R>::dimension(&self.0)
    }

    fn exchange(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        clip: f64,
        table: &mut Table<R>,
        scratch: &mut Scratch<R>,
        out: &mut [R],
    ) -> Clipped {
        out.fill(R::ZERO);
        let mut v = vec![R::ZERO; x.len()];
        for record in batch.iter() {
            let one = [record];
            self.0.clipped_sum(x, Batch::of(batch.data(), &one), clip, scratch, &mut v);
            for ((out, v), kept) in out.iter_mut().zip(&v).zip(table.entry_mut(record)) {
                *out += *v - *kept;
                *kept = *v;
            }
        }
        Clipped::default()
    }
}

pub(crate) fn distances(dimension: usize) -> Arc<Distances> {
    Arc::new(Distances(MeanEstimation::new(dimension)))
}

pub(crate) fn dataset(width: usize, values: &[f64]) -> Dataset<f64> {
    Dataset::new(Features::Dense { width, values: values.to_vec() }, Targets::None).unwrap()
}

pub(crate) fn clip(norm: f64) -> ClipNorm {
    ClipNorm::new(norm).unwrap()
}

pub(crate) fn gaussian(sigma: f64) -> Noise {
    Noise::Gaussian(Scale::new(sigma).unwrap())
}

pub(crate) fn poisson(probability: f64) -> Sampler {
    Sampler::Poisson(PoissonSampler { probability: Probability::new(probability).unwrap() })
}

/// An oracle for this plan, under an adjacency.
fn open(
    private: Private<f64>,
    plan: Event,
    epsilon: f64,
    adjacency: Adjacency,
    seed: u64,
) -> Oracle<f64> {
    let epsilon = Epsilon::new(epsilon).unwrap_or(Epsilon::INFINITE);
    let budget = Budget { epsilon, delta: Delta::new(1e-5).unwrap() };
    let filter = Filter::Planned { event: plan };
    let header = Header { node: 0, budget, adjacency, unit: Unit::Record, filter };
    Oracle::new(private, Ledger::open(header, Vec::new()).unwrap(), Key::from_seed(seed))
}

pub(crate) fn exposed(private: Private<f64>, plan: Event, seed: u64) -> Oracle<f64> {
    open(private, plan, f64::INFINITY, Adjacency::Replace, seed)
}

fn epsilon(accountant: Accountant, plan: &Event, adjacency: Adjacency, delta: f64) -> f64 {
    let delta = Delta::new(delta).unwrap();
    accountant.epsilon(plan, adjacency, delta).unwrap().epsilon.get()
}

pub(crate) fn gradient_at(round: u64, at: &[f64]) -> Question<f64> {
    Question::Gradient { round, at: Released::public(at.to_vec()) }
}

/// The points of a single node.
fn path(mut node: PrivSgp<f64>, oracle: &mut Oracle<f64>, rounds: u64) -> Vec<[f64; 2]> {
    let graph = Family::Complete { nodes: 1 }.build(0).unwrap();
    let wiring = Topology::new(Schedule::Fixed(graph)).wiring_at(0).unwrap();
    let around = wiring.around(NodeId(0));
    let mut round = |round| {
        let question = node.ask(round).unwrap();
        node.answer(round, oracle.answer(question).unwrap());
        let mut mail = Mail::new(1, node.shape());
        node.send(round, &around, &mut mail.slot(NodeId(0)));
        node.receive(round, &around, mail.heard_by(&around));
        let mut x = [0.0; 2];
        node.estimate(&mut x);
        x
    };
    (0..rounds).map(&mut round).collect()
}

fn is_close(found: &[[f64; 2]], expected: &[[f64; 2]]) -> bool {
    found.iter().flatten().zip(expected.iter().flatten()).all(|(a, b)| (a - b).abs() < 1e-12)
}

/// Theory 7.2: c = (1, 0), (0, 1), (-1, 2), gamma = .1; some seed draws the records 1, 1, 0.
#[test]
fn both_sagas_have_the_values_of_the_theory() {
    let gradients = |sampler| {
        let data = dataset(2, &[1.0, 0.0, 0.0, 1.0, -1.0, 2.0]);
        PrivateGradients::new(distances(2), data, sampler, clip(9.0), Noise::Exposed)
    };
    let steps = Steps::new(3, StepSize::Constant(0.1), 1.0);
    let start = PrivSgp::new(&[0.0, 0.0], steps);
    let printed = [[0.0, 0.1], [0.0, 0.19], [0.0, 0.267_666_666_666_667]];
    assert!((0..400).any(|seed| {
        let one = Sampler::FixedSize(FixedSizeSampler::new(1, 3).unwrap());
        let gradients = gradients(one).printed().unwrap();
        let plan = gradients.plan(3);
        assert_eq!(plan, Event::NonPrivate.repeated(3));
        let mut oracle = exposed(Private::Gradients(gradients), plan, seed);
        is_close(&path(start.clone(), &mut oracle, 3), &printed)
    }));
    let redesigned = [[0.0, 0.1], [0.0, 0.123_333_333_333_333], [0.1, 0.141]];
    assert!((0..400).any(|seed| {
        let one = Sampler::FixedSize(FixedSizeSampler::new(1, 3).unwrap());
        let gradients = gradients(one).with_table().unwrap();
        let plan = gradients.plan(3);
        let mut oracle = exposed(Private::Gradients(gradients), plan, seed);
        is_close(&path(start.clone().with_reduction(3), &mut oracle, 3), &redesigned)
    }));
}

/// DSGD: without noise there is no guarantee, whatever the sampler, but batches are still drawn.
#[test]
fn exposed_batches_follow_the_sampler_and_have_no_guarantee() {
    let sums = |sampler, seed| -> Vec<f64> {
        let data = dataset(1, &[1.0; 40]);
        let gradients =
            PrivateGradients::new(distances(1), data, sampler, clip(9.0), Noise::Exposed);
        let plan = gradients.plan(50);
        let mut oracle = exposed(Private::Gradients(gradients), plan, seed);
        assert!(oracle.guarantee().epsilon.get().is_infinite());
        let mut ask = |round| oracle.answer(gradient_at(round, &[0.0])).unwrap().released();
        (0..50).map(|round| -ask(round).unwrap().get()[0]).collect()
    };
    assert_eq!(sums(Sampler::Full, 1), [40.0; 50]);
    let fixed = Sampler::FixedSize(FixedSizeSampler::new(7, 40).unwrap());
    assert_eq!(sums(fixed, 1), [7.0; 50]);
    let (first, second) = (sums(poisson(0.25), 1), sums(poisson(0.25), 2));
    assert_ne!(first, second);
    assert_eq!(first, sums(poisson(0.25), 1));
    // 5.6 standard errors of a binomial mean.
    let mean = first.iter().sum::<f64>() / 50.0;
    assert!((mean - 10.0).abs() < 5.6 * (7.5_f64 / 50.0).sqrt(), "{mean}");
}

/// Theory 7.2, J = 3125, K = 3120, G = 10: bound (S) for Poisson batches, (C) for a single index.
#[test]
fn printed_saga_has_the_price_of_the_theory() {
    let rounds = |sampler, sigma| {
        let data = dataset(1, &[0.0; 3125]);
        PrivateGradients::new(distances(1), data, sampler, clip(10.0), gaussian(sigma))
            .printed()
            .unwrap()
            .plan(3120)
    };
    for (sigma, expected) in [(11.0438, 2.962369), (15.0, 1.235703), (25.0, 0.345884)] {
        let plan = rounds(poisson(1.0 / 3125.0), sigma);
        let found = epsilon(Accountant::Rdp, &plan, Adjacency::AddRemove, 1e-5);
        // Fractional orders are better than the theory's integers, most where the order is small.
        assert!(found <= expected + 1e-3 && found > 0.9 * expected, "{found} {expected}");
    }
    let one = Sampler::FixedSize(FixedSizeSampler::new(1, 3125).unwrap());
    let found = epsilon(Accountant::Pld, &rounds(one, 92.599608), Adjacency::Replace, 1e-5);
    assert!((found - 3.0).abs() < 5e-3, "{found}");
}

#[test]
fn printed_saga_is_released_against_its_own_event_only() {
    let gradients = |sampler| {
        let data = dataset(2, &[0.5; 40]);
        PrivateGradients::new(distances(2), data, sampler, clip(1.0), gaussian(30.0))
    };
    let one = || Sampler::FixedSize(FixedSizeSampler::new(1, 20).unwrap());
    for (sampler, adjacency) in [(one(), Adjacency::Replace), (poisson(0.25), Adjacency::AddRemove)]
    {
        let printed = gradients(sampler).printed().unwrap();
        let plan = printed.plan(3);
        let mut oracle = open(Private::Gradients(printed), plan, 9.0, adjacency, 1);
        for round in 0..3 {
            let answer = oracle.answer(gradient_at(round, &[0.0; 2])).unwrap();
            assert_eq!(answer.released().unwrap().get().len(), 2);
        }
        assert_eq!(oracle.answer(gradient_at(3, &[0.0; 2])), Ok(Answer::Refused));
        assert!(oracle.guarantee().epsilon.get().is_finite());
        // Paid for as a plain sampled Gaussian there is no answer.
        let plain = gradients(sampler).plan(3);
        let printed = Private::Gradients(gradients(sampler).printed().unwrap());
        let mut oracle = open(printed, plain, 9.0, adjacency, 1);
        assert_eq!(oracle.answer(gradient_at(0, &[0.0; 2])), Ok(Answer::Refused));
    }
    for refused in [Sampler::Full, Sampler::FixedSize(FixedSizeSampler::new(2, 20).unwrap())] {
        assert_eq!(gradients(refused).printed().err(), Some(TableError::Printed));
    }
}

fn adaptive(quantile: f64, count: f64) -> AdaptiveClip {
    AdaptiveClip::new(clip(1.0), quantile, 0.3, Scale::new(count).unwrap()).unwrap()
}

/// Gradients at 0 have the norms 1 to 99: with all records and without noise the clip norm comes to
/// the quantile, from below and from above.
#[test]
fn a_clip_norm_that_adapts_finds_the_quantile() {
    let norms: Vec<f64> = (1..=99).map(f64::from).collect();
    for (quantile, expected) in [(0.2, 20.0), (0.5, 50.0), (0.9, 89.0)] {
        let data = dataset(1, &norms);
        let gradients =
            PrivateGradients::new(distances(1), data, Sampler::Full, clip(1.0), Noise::Exposed)
                .adaptive(adaptive(quantile, 1.0))
                .unwrap();
        let plan = gradients.plan(200);
        let mut oracle = exposed(Private::Gradients(gradients), plan, 1);
        let mut norm = 0.0;
        for round in 0..200 {
            let answer = oracle.answer(gradient_at(round, &[0.0])).unwrap().released().unwrap();
            // The sum of what is left tells the clip norm.
            let sum = -answer.get()[0];
            let all = |c: f64| norms.iter().map(|n| n.min(c)).sum::<f64>();
            let (mut low, mut high) = (0.0, 200.0);
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                if all(middle) < sum { low = middle } else { high = middle }
            }
            norm = high;
        }
        assert!((norm - expected).abs() < 2.0, "{quantile}: {norm}");
    }
}

/// Andrew and others 2021: sum and count together are one Gaussian of an effective multiplier.
#[test]
fn counting_short_gradients_is_charged_by_the_closed_form() {
    let (z, count) = (1.3_f64, 4.0_f64);
    let clipped = |clip: Option<AdaptiveClip>, noise| {
        let data = dataset(1, &[0.0; 100]);
        let plain = PrivateGradients::new(
            distances(1),
            data,
            poisson(0.1),
            ClipNorm::new(1.0).unwrap(),
            noise,
        );
        match clip {
            Some(clip) => plain.adaptive(clip).unwrap().plan(50),
            None => plain.plan(50),
        }
    };
    let effective = (z.powi(-2) + (2.0 * count).powi(-2)).powf(-0.5);
    let both = clipped(Some(adaptive(0.5, count)), gaussian(z));
    let one = clipped(None, gaussian(effective));
    for adjacency in [Adjacency::AddRemove, Adjacency::Replace] {
        let price = |plan: &Event| epsilon(Accountant::Best, plan, adjacency, 1e-5);
        let (found, expected) = (price(&both), price(&one));
        assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
        assert!(found > price(&clipped(None, gaussian(z))));
    }
}

#[test]
fn a_clip_norm_that_adapts_is_not_paid_for_by_a_plain_sum() {
    let gradients = || {
        let data = dataset(1, &[0.5; 40]);
        PrivateGradients::new(distances(1), data, poisson(0.25), clip(1.0), gaussian(8.0))
    };
    let both = || gradients().adaptive(adaptive(0.5, 5.0)).unwrap();
    let (plain, paid) = (gradients().plan(3), both().plan(3));
    let add_remove = Adjacency::AddRemove;
    let mut cheap = open(Private::Gradients(both()), plain, 9.0, add_remove, 1);
    assert_eq!(cheap.answer(gradient_at(0, &[0.0])), Ok(Answer::Refused));
    let mut oracle = open(Private::Gradients(both()), paid, 9.0, add_remove, 1);
    // The clip norm changes from round to round, the event does not.
    for round in 0..3 {
        assert!(oracle.answer(gradient_at(round, &[0.0])).unwrap().released().is_some());
    }
    assert_eq!(oracle.ledger().len(), 3);
    assert!(AdaptiveClip::new(clip(1.0), 1.0, 0.2, Scale::new(1.0).unwrap()).is_err());
    assert!(AdaptiveClip::new(clip(1.0), 0.5, 0.0, Scale::new(1.0).unwrap()).is_err());
}

/// Theory 3.1, m = 1000, T = 1000, s = .62001, K = .5: noise s K on the mean of 20 (of 4).
#[test]
fn quantised_descent_has_the_price_of_the_theory() {
    let plan = |batch: f64, sampler| {
        let noise = gaussian(0.620_010_979_6 * 0.5 * batch);
        let data = dataset(1, &[0.0; 1000]);
        PrivateGradients::new(distances(1), data, sampler, clip(0.5), noise).plan(1000)
    };
    let add_remove =
        |accountant, plan: &Event| epsilon(accountant, plan, Adjacency::AddRemove, 1e-5);
    let twenty = plan(20.0, poisson(0.02));
    assert!((add_remove(Accountant::Pld, &twenty) - 0.164_602).abs() < 2e-4);
    assert!((add_remove(Accountant::Rdp, &twenty) - 0.182_609).abs() < 2e-4);
    let four = plan(4.0, poisson(0.004));
    assert!((add_remove(Accountant::Pld, &four) - 0.175_294).abs() < 2e-4);
}

#[test]
fn batches_may_change_by_a_schedule_and_empty_ones_are_free() {
    let schedule =
        [Some((poisson(0.5), gaussian(40.0))), None, Some((poisson(0.25), gaussian(20.0)))];
    let data = dataset(2, &[0.5; 40]);
    let gradients = PrivateGradients::scheduled(distances(2), data, clip(1.0), &schedule);
    assert_ne!(gradients.event_of(0), gradients.event_of(2));
    assert_eq!(gradients.event_of(0), gradients.event_of(3));
    assert_eq!(gradients.event_of(1), None);
    let times = |event: &Event| match event {
        Event::Repeated(repeated) => repeated.times,
        _ => panic!("a schedule repeats"),
    };
    let plan = gradients.plan(7);
    let Event::Composed(parts) = &plan else { panic!("two kinds of rounds") };
    assert_eq!(parts.iter().map(times).collect::<Vec<_>>(), [3, 2]);
    let mut oracle = open(Private::Gradients(gradients), plan, 5.0, Adjacency::AddRemove, 3);
    let answered: Vec<bool> = (0..9)
        .map(|round| oracle.answer(gradient_at(round, &[0.1, 0.2])).unwrap() != Answer::Refused)
        .collect();
    // Round 7 has no batch; that of 8 is beyond the plan.
    assert_eq!(answered, [true, false, true, true, false, true, true, false, false]);
    // Invariant I2: one entry a release, and none for a round without a batch.
    assert_eq!(oracle.ledger().len(), 5);
}

/// Theory 3.3: T = 1000, q = .02, z = 2: .785384 for c = .3 and 1.458470 for c = 1.
#[test]
fn masked_gradients_have_the_price_of_the_theory_and_a_mask() {
    let gradients = |transmit: f64| {
        let data = dataset(200, &vec![0.1; 200 * 50]);
        let gradients =
            PrivateGradients::new(distances(200), data, poisson(0.02), clip(0.5), gaussian(1.0));
        gradients.masked(Probability::new(transmit).unwrap())
    };
    for (transmit, expected) in [(0.3, 0.785_384), (1.0, 1.458_470)] {
        let plan = gradients(transmit).plan(1000);
        let found = epsilon(Accountant::Rdp, &plan, Adjacency::AddRemove, 1e-5);
        assert!((found - expected).abs() < 1e-3, "{found}");
        // Replacing a record is a removal and an addition of the whole run (theory E6).
        assert!(epsilon(Accountant::Rdp, &plan, Adjacency::Replace, 1e-5) > found);
    }
    let gradients = gradients(0.3);
    let plan = gradients.plan(2);
    let mut oracle = open(Private::Gradients(gradients), plan, 1.0, Adjacency::AddRemove, 3);
    let ask = |round| Question::Masked { round, at: Released::public(vec![0.0; 200]) };
    let Ok(Answer::Masked(masked)) = oracle.answer(ask(0)) else { panic!("is answered") };
    let n_sent = masked.get().indices.len();
    assert!((25..100).contains(&n_sent) && masked.get().values.len() == n_sent, "{n_sent}");
    let Ok(Answer::Masked(again)) = oracle.answer(ask(1)) else { panic!("is answered") };
    assert_ne!(masked.get().indices, again.get().indices);
    assert_eq!(oracle.answer(ask(2)), Ok(Answer::Refused));
    let other = oracle.answer(gradient_at(0, &[0.0; 200]));
    assert!(matches!(other, Err(OracleError::OtherData { kept: "masked gradients", .. })));
}

/// Theory 5.2: 100 windows, C_g = 1, r = 13500 records, noise .01 on the mean.
#[test]
fn surplus_gradients_have_the_price_of_the_theory() {
    let data = dataset(1, &[0.0; 13_500]);
    let noise = gaussian(0.01 * 13_500.0);
    let plan = PrivateGradients::new(distances(1), data, Sampler::Full, clip(1.0), noise).plan(100);
    let mu = gaussian_size(&plan, Adjacency::Replace).unwrap().get();
    assert!((mu - 0.148_148_148_1).abs() < 1e-10);
    let found = epsilon(Accountant::Best, &plan, Adjacency::Replace, 1e-4);
    assert!((found - 0.429_295_8).abs() < 1e-6, "{found}");
}

/// Theory 7.1, J = 3125, K = 3120, G = 10, target (3, 1e-5): (U) s = 10.976437, (P) s = 4.65010.
#[test]
fn priv_sgp_has_the_price_of_the_theory() {
    let plan = |sampler, sigma| {
        let data = dataset(1, &[0.0; 3125]);
        PrivateGradients::new(distances(1), data, sampler, clip(10.0), gaussian(sigma)).plan(3120)
    };
    let one = Sampler::FixedSize(FixedSizeSampler::new(1, 3125).unwrap());
    // The theory's integral is coarser than ours: 3 is an upper bound.
    let found = epsilon(Accountant::Rdp, &plan(one, 10.976_437), Adjacency::Replace, 1e-5);
    assert!(found < 3.0 && found > 2.6, "{found}");
    let poisson = plan(poisson(1.0 / 3125.0), 4.650_10);
    let found = epsilon(Accountant::Pld, &poisson, Adjacency::AddRemove, 1e-5);
    assert!((found - 3.0).abs() < 0.02, "{found}");
}

/// Theory 8 for any objective: the vector of mean estimation, with a wide clip norm.
#[test]
fn a_projected_step_of_any_objective_has_the_value_of_the_theory() {
    let ask = |domain: Domain, norm: f64| {
        let objective = Arc::new(MeanEstimation::new(2));
        let steps =
            PrivateSteps::of_objective(objective, dataset(2, &[0.7, 0.7, 0.5, 0.9]), clip(norm));
        let moved = steps.sensitivity(0.1).unwrap().under(Adjacency::Replace).unwrap();
        assert!((moved - 0.2 * norm).abs() < 1e-15);
        assert_eq!(steps.records(), 2);
        let private = Private::Steps(steps.within(domain), Arc::new([Noise::Exposed]));
        let mut oracle = exposed(private, Event::NonPrivate, 1);
        let at = Released::public(vec![0.125, -0.075]);
        let answer = oracle.answer(Question::Step { t: 1, at, step: 0.1 }).unwrap();
        answer.released().unwrap().into_inner()
    };
    let free = ask(Domain::Whole, 5.0);
    assert!((free[0] - 0.22).abs() < 1e-14 && (free[1] - 0.1).abs() < 1e-14, "{free:?}");
    let boxed = ask(Domain::Box { radius: 0.2 }, 5.0);
    assert!((boxed[0] - 0.2).abs() < 1e-14 && (boxed[1] - 0.1).abs() < 1e-14, "{boxed:?}");
    let clipped = ask(Domain::Whole, 0.01);
    let far = ((clipped[0] - 0.125).powi(2) + (clipped[1] + 0.075).powi(2)).sqrt();
    assert!(far <= 0.002 && far > 0.001_9, "{far}");
}

/// Theory 3.2, re-anchored: what leaves is on the lattice, and is priced by coupled rounding.
#[test]
fn points_end_on_the_lattice_and_are_priced() {
    let points = |noise, sampler| {
        let data = dataset(2, &[0.5; 40]);
        let lattice = Scale::new(0.125).unwrap();
        Private::points(distances(2), data, vec![Some(sampler), None], clip(1.0), noise, lattice)
    };
    let event = |private: &mut Private<f64>, round| {
        let Private::Points(points) = private else { panic!("it has points") };
        points.event_of(round, 0.01).unwrap()
    };
    let ask = |round| {
        let at = || Released::public(vec![1.5, 0.5]);
        let from = Released::public(vec![1.0, 0.25]);
        Question::Point { round, at: at(), from, step: 0.01, keep: 0.0 }
    };
    // Without noise: from - step (20 clipped gradients of length one).
    let mut private = points(Noise::Exposed, Sampler::Full);
    let plan = event(&mut private, 0).unwrap();
    let mut oracle = exposed(private, plan, 1);
    let point = oracle.answer(ask(0)).unwrap().released().unwrap().into_inner();
    assert!((point[0] - 0.8).abs() < 1e-9 && (point[1] - 0.25).abs() < 1e-9, "{point:?}");

    let mut private = points(gaussian(0.5), poisson(0.25));
    assert_eq!(event(&mut private, 1), None);
    let plan = event(&mut private, 0).unwrap().repeated(3);
    let found = epsilon(Accountant::Rdp, &plan, Adjacency::AddRemove, 1e-5);
    assert!(found > 0.0 && found < 2.0, "{found}");
    let mut oracle = open(private, plan, 2.0, Adjacency::AddRemove, 1);
    for round in [0, 2, 4] {
        let point = oracle.answer(ask(round)).unwrap().released().unwrap().into_inner();
        assert!(point.iter().all(|v| (v / 0.125).fract() == 0.0), "{point:?}");
    }
    assert_eq!(oracle.answer(ask(1)), Ok(Answer::Refused));
    assert_eq!(oracle.answer(ask(6)), Ok(Answer::Refused));
    assert_eq!(oracle.ledger().len(), 3);
}

/// Theory 3.2: rounding in p = 1000 dimensions, du = .01, eta = .05, noise .5.
#[test]
fn points_have_the_divergence_of_the_theory() {
    let lattice = Scale::new(0.05).unwrap();
    let (data, full) = (dataset(1000, &[0.0; 1000]), vec![Some(Sampler::Full)]);
    let mut private =
        Private::points(distances(1000), data, full, clip(0.5), gaussian(0.5), lattice);
    let Private::Points(points) = &mut private else { panic!("it has points") };
    // A step of .02 moves the point by .01, as no gradient is longer than .5.
    let event = points.event_of(0, 0.02).unwrap().unwrap();
    let Event::Imprecise(imprecise) = event else { panic!("the sampler's error is charged") };
    for (order, expected) in
        [(2.0, 0.063_560_817_67), (4.0, 0.130_337_401_4), (8.0, 0.291_652_422_4)]
    {
        let order = Order::new(order).unwrap();
        let found = renyi(&imprecise.event, Adjacency::AddRemove, order).unwrap();
        assert!((found - expected).abs() < 1e-9, "{found}");
    }
}

/// Paper 000, algorithm 5 as printed: the node's own point is kept without noise, and there is no
/// guarantee though noise is added. By hand: x = 1 - .1 (0 - 3), then 2 + .5 (x - 1) - .1 (x - 3).
#[test]
fn printed_points_keep_a_point_of_their_own_and_have_no_guarantee() {
    let oracle = |noise| {
        let lattice = Scale::new(0.125).unwrap();
        let samplers = vec![Some(Sampler::Full), Some(Sampler::Full), None];
        let data = dataset(1, &[3.0]);
        let private =
            Private::printed_points(distances(1), data, samplers, clip(9.0), noise, lattice);
        exposed(private, Event::NonPrivate.repeated(3), 1)
    };
    let ask = |round, at: f64, from: f64, keep| Question::Point {
        round,
        at: Released::public(vec![at]),
        from: Released::public(vec![from]),
        step: 0.1,
        keep,
    };
    let questions = [ask(0, 0.0, 1.0, 0.0), ask(1, 1.0, 2.0, 0.5), ask(2, 2.0, 2.0, 0.5)];
    let mut exact = oracle(Noise::Exposed);
    for (question, expected) in questions.clone().into_iter().zip([1.3, 2.32, 2.16]) {
        let point = exact.answer(question).unwrap().released().unwrap().into_inner();
        assert!((point[0] - expected).abs() < 1e-12, "{point:?}");
    }
    let mut noisy = oracle(gaussian(2.0));
    for question in questions {
        let point = noisy.answer(question).unwrap().released().unwrap().into_inner();
        assert!((point[0] / 0.125).fract() == 0.0, "{point:?}");
    }
    assert!(noisy.guarantee().epsilon.get().is_infinite());
}

/// A single node that draws one of three records a round: with a constant step plain descent stays
/// in a ball around the mean (0, 1) of the records, and both ways of reducing variance reach it.
#[test]
fn variance_reduction_reaches_the_optimum_with_a_constant_step() {
    let steps = Steps::new(800, StepSize::Constant(0.2), 1.0);
    let far = |node: PrivSgp<f64>, kind: fn(PrivateGradients<f64>) -> PrivateGradients<f64>| {
        let data = dataset(2, &[1.0, 0.0, 0.0, 1.0, -1.0, 2.0]);
        let one = Sampler::FixedSize(FixedSizeSampler::new(1, 3).unwrap());
        let gradients = PrivateGradients::new(distances(2), data, one, clip(9.0), Noise::Exposed);
        let gradients = kind(gradients);
        let plan = gradients.plan(800);
        let mut oracle = exposed(Private::Gradients(gradients), plan, 1);
        let path = path(node, &mut oracle, 800);
        path[799][0].hypot(path[799][1] - 1.0)
    };
    let node = || PrivSgp::new(&[0.0, 0.0], steps);
    let plain = far(node(), |gradients| gradients);
    assert!(plain > 1e-2, "{plain}");
    let printed = far(node(), |gradients| gradients.printed().unwrap());
    assert!(printed < 1e-9, "{printed}");
    let redesigned = far(node().with_reduction(3), |gradients| gradients.with_table().unwrap());
    assert!(redesigned < 1e-9, "{redesigned}");
}

/// Two stages on a logistic regression without noise, with steps that decay as one over t: at the
/// result the gradients of all nodes sum to less and less (none is long enough to be clipped).
#[test]
fn two_stages_reach_the_optimum_of_any_smooth_objective() {
    let (few, many) = (slope_after(300), slope_after(9000));
    assert!(few < 0.5 && many < 0.2 * few && many < 0.02, "{few} {many}");
}

/// The norm of the sum of all gradients where two stages of so many steps end.
fn slope_after(steps: u64) -> f64 {
    let (n_nodes, each) = (4_u32, 10_usize);
    let objective = Arc::new(Linear::new(2, false, Loss::Logistic));
    let data = |node: u32| {
        let x = |k: usize| ((node as usize * 31 + k * 7) as f64).sin();
        let values: Vec<f64> = (0..2 * each).map(x).collect();
        let sign = |k: usize| if k.is_multiple_of(3) { -1.0 } else { 1.0 };
        let signs = (0..each).map(sign).collect();
        Dataset::new(Features::Dense { width: 2, values }, Targets::Sign(signs)).unwrap()
    };
    let mut oracles: Vec<Oracle<f64>> = (0..n_nodes)
        .map(|node| {
            let private = PrivateSteps::of_objective(objective.clone(), data(node), clip(5.0))
                .within(Domain::Ball { radius: 20.0 });
            let noise = vec![Noise::Exposed; steps as usize].into();
            exposed(Private::Steps(private, noise), Event::NonPrivate.repeated(steps), 1)
        })
        .collect();
    let domain = Domain::Ball { radius: 20.0 };
    // The step has to be at least one over the strong convexity, which is about a third.
    let mut nodes = vec![TwoStage::<f64>::new(2, domain, steps, 4.0); n_nodes as usize];
    let ring = Schedule::Fixed(Family::Ring { nodes: n_nodes }.build(0).unwrap());
    let wiring = Topology::new(ring).with_pull(Weights::Metropolis, 0.0).wiring_at(0).unwrap();
    let mut mail = Mail::new(nodes.len(), nodes[0].shape());
    for round in 0..steps + 60 {
        for (i, node) in nodes.iter_mut().enumerate() {
            if let Some(question) = node.ask(round) {
                node.answer(round, oracles[i].answer(question).unwrap());
            }
            let id = NodeId(i as u32);
            node.send(round, &wiring.around(id), &mut mail.slot(id));
        }
        for (i, node) in nodes.iter_mut().enumerate() {
            let around = wiring.around(NodeId(i as u32));
            node.receive(round, &around, mail.heard_by(&around));
        }
    }
    let (mut x, mut sum, mut one) = ([0.0; 2], [0.0; 2], [0.0; 2]);
    nodes[0].estimate(&mut x);
    for node in 0..n_nodes {
        let data = data(node);
        objective.gradient(&x, Batch::all(&data), &mut Scratch::default(), &mut one);
        sum.iter_mut().zip(one).for_each(|(sum, g)| *sum += g);
    }
    sum[0].hypot(sum[1])
}
