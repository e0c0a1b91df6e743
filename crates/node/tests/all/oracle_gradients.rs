//! Gradients through the door: what an oracle answers to algorithms that descend, and its price.
use std::sync::Arc;

use undertone_graph::{Family, NodeId, Schedule};
use undertone_model::dataset::{Features, Targets};
use undertone_model::{Batch, Clipped, Dataset, MeanEstimation, Objective, Scratch, Table, Tabled};
use undertone_node::{
    AdaptiveClip, Noise, Oracle, OracleError, Private, PrivateGradients, TableError,
};
use undertone_privacy::accountant::{Accountant, gaussian_size};
use undertone_privacy::event::Event;
use undertone_privacy::ledger::{Budget, Filter, Header, Ledger};
use undertone_privacy::noise::Key;
use undertone_privacy::release::Released;
use undertone_privacy::sampler::{FixedSizeSampler, PoissonSampler, Sampler};
use undertone_privacy::units::{Adjacency, ClipNorm, Delta, Epsilon, Probability, Scale, Unit};
use undertone_protocol::{Answer, Mail, PrivSgp, Question, StepSize, Steps, Synchronous, Topology};
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
pub(crate) fn open(
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

pub(crate) fn epsilon(
    accountant: Accountant,
    plan: &Event,
    adjacency: Adjacency,
    delta: f64,
) -> f64 {
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
