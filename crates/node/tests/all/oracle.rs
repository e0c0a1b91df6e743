//! The door: what an oracle releases, what it refuses, and what it costs.
use std::sync::Arc;

use undertone_node::{Bound, Noise, Oracle, OracleError, Private, PrivateSteps, PrivateVector};
use undertone_privacy::event::Event;
use undertone_privacy::ledger::Budget;
use undertone_privacy::noise::Key;
use undertone_privacy::release::Released;
use undertone_privacy::units::{Adjacency, Delta, Epsilon, Scale, Unit};
use undertone_protocol::{Answer, Domain, Question};
use undertone_real::Real;

fn budget(epsilon: f64, delta: f64) -> Budget {
    Budget { epsilon: Epsilon::new(epsilon).unwrap(), delta: Delta::new(delta).unwrap() }
}

fn infinite() -> Budget {
    Budget { epsilon: Epsilon::INFINITE, delta: Delta::new(0.0).unwrap() }
}

fn sigma(noise: Noise) -> f64 {
    let Noise::Gaussian(sigma) = noise else { panic!("there is noise") };
    sigma.get()
}

/// Theory 5.1: d = 64, C = 5.
#[test]
fn consensus_noise_has_the_values_of_the_theory() {
    let vector = PrivateVector::new(vec![0.0; 64], Bound::Box { radius: 5.0 }, 1);
    assert_eq!(vector.unit(), Unit::Node);
    for ((epsilon, delta), expected) in [((0.9, 1e-5), 328.529_946_5), ((1.0, 1e-4), 254.856_239_2)]
    {
        let budget = budget(epsilon, delta);
        let noise = Noise::calibrated(&vector.sensitivity(), budget.epsilon, budget.delta).unwrap();
        assert!((sigma(noise) - expected).abs() < 1e-6, "{noise:?}");
    }
    // A mean of ten records moves a tenth as far, and hides a record.
    let mean = PrivateVector::mean_of(64, vec![1.0; 640], Bound::Box { radius: 5.0 });
    assert_eq!(mean.sensitivity().under(Adjacency::Replace), Some(8.0));
    assert_eq!(mean.unit(), Unit::Record);
}

/// Theory 8: records (.7, .7) and (.5, .9), X = [-.2, .2]^2, eta = .1.
#[test]
fn a_projected_step_has_the_value_of_the_theory() {
    let ask = |radius| {
        let steps = PrivateSteps::new(2, vec![0.7, 0.7, 0.5, 0.9], Domain::Box { radius: 1.0 });
        assert_eq!(
            steps.sensitivity(0.1).unwrap().under(Adjacency::Replace),
            Some(0.2 * 2_f64.sqrt())
        );
        let steps = steps.within(Domain::Box { radius });
        let private = Private::Steps(steps, Arc::new([Noise::Exposed]));
        let mut oracle =
            Oracle::open(0, private, Event::NonPrivate, infinite(), Key::from_seed(1), vec![])
                .unwrap();
        let at = Released::public(vec![0.125_f64, -0.075]);
        let answer = oracle.answer(Question::Step { t: 1, at, step: 0.1 }).unwrap();
        answer.released().unwrap().into_inner()
    };
    let (free, projected) = (ask(1.0), ask(0.2));
    assert!((free[0] - 0.22).abs() < 1e-15 && (free[1] - 0.1).abs() < 1e-15, "{free:?}");
    assert!((projected[0] - 0.2).abs() < 1e-15 && (projected[1] - 0.1).abs() < 1e-15);
}

#[test]
fn an_oracle_answers_what_is_paid_for_and_refuses_the_rest() {
    let vector = PrivateVector::new(vec![9.0, -9.0], Bound::Box { radius: 1.0 }, 1);
    let budget = budget(1.0, 1e-5);
    let noise = Noise::calibrated(&vector.sensitivity(), budget.epsilon, budget.delta).unwrap();
    let plan = noise.event(vector.sensitivity());
    let private = Private::Vector(vector, noise);
    let mut oracle = Oracle::open(4, private, plan, budget, Key::from_seed(1), Vec::new()).unwrap();
    assert!(matches!(oracle.answer(Question::Vector), Ok(Answer::Released(_))));
    assert_eq!(oracle.answer(Question::Vector), Ok(Answer::Refused));
    // Invariant I2: one entry, one release.
    assert_eq!(oracle.ledger().len(), 1);
    let at = Released::public(vec![0.0_f64]);
    let other = oracle.answer(Question::Step { t: 1, at, step: 0.1 });
    assert!(matches!(other, Err(OracleError::OtherData { .. })));
    assert_eq!(oracle.guarantee().epsilon.get(), 1.0);
    assert_eq!(oracle.guarantee().unit, Unit::Node);
}

#[test]
fn without_noise_there_is_no_guarantee_and_values_are_clipped_all_the_same() {
    let vector = PrivateVector::new(vec![9.0, -0.5], Bound::Box { radius: 0.1 }, 1);
    let private = Private::<f64>::Vector(vector, Noise::Exposed);
    let mut oracle =
        Oracle::open(0, private, Event::NonPrivate, infinite(), Key::from_seed(1), vec![]).unwrap();
    let answer = oracle.answer(Question::Vector).unwrap();
    let values = answer.released().unwrap().into_inner();
    assert_eq!(values, [0.1, -0.1]);
    assert!(oracle.guarantee().epsilon.get().is_infinite());
}

#[test]
fn a_step_beyond_the_plan_is_refused() {
    let steps = PrivateSteps::new(1, vec![0.5; 10], Domain::Box { radius: 1.0 });
    let noise = Noise::Gaussian(Scale::new(3.0).unwrap());
    let plan = noise.event(steps.sensitivity(0.1).unwrap());
    let private = Private::Steps(steps, Arc::new([noise]));
    let mut oracle =
        Oracle::open(0, private, plan, budget(5.0, 1e-5), Key::from_seed(1), vec![]).unwrap();
    let ask = |t| Question::Step { t, at: Released::public(vec![0.0_f64]), step: 0.1 };
    assert!(matches!(oracle.answer(ask(1)), Ok(Answer::Released(_))));
    assert_eq!(oracle.answer(ask(2)), Ok(Answer::Refused));
    assert_eq!(oracle.answer(ask(0)), Ok(Answer::Refused));
    assert_eq!(oracle.ledger().len(), 1);
}

/// What no projection bounds must not leave, not even without noise.
#[test]
fn records_that_are_not_finite_count_as_zero() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for bound in [Bound::Box { radius: 1.0 }, Bound::Ball { radius: 1.0 }] {
            let vector = PrivateVector::mean_of(2, vec![bad, 0.5, 0.5, 0.5], bound);
            let private = Private::<f64>::Vector(vector, Noise::Exposed);
            let key = Key::from_seed(1);
            let mut oracle =
                Oracle::open(0, private, Event::NonPrivate, infinite(), key, vec![]).unwrap();
            let answer = oracle.answer(Question::Vector).unwrap();
            assert_eq!(answer.released().unwrap().into_inner(), [0.25, 0.25]);
        }
    }
}

/// Noise comes before narrowing, so a run in single precision releases the narrowed values of one
/// in double precision.
#[test]
fn single_precision_is_post_processing() {
    fn release<R: Real>() -> Oracle<R> {
        let vector = PrivateVector::new(vec![0.3, -0.7], Bound::Ball { radius: 1.0 }, 1);
        let noise = Noise::Gaussian(Scale::new(2.0).unwrap());
        let plan = noise.event(vector.sensitivity());
        let private = Private::Vector(vector, noise);
        Oracle::open(0, private, plan, budget(9.0, 1e-3), Key::from_seed(7), vec![]).unwrap()
    }
    let wide = release::<f64>().answer(Question::Vector).unwrap().released().unwrap();
    let narrow = release::<f32>().answer(Question::Vector).unwrap().released().unwrap();
    let narrowed: Vec<f32> = wide.get().iter().map(|v| *v as f32).collect();
    assert_eq!(narrow.get(), &narrowed);
}
