//! Oracles that answer together answer as they would alone.
use std::sync::Arc;

use undertone_model::dataset::{Features, Targets};
use undertone_model::network::Activation;
use undertone_model::{Dataset, Linear, Loss, Network, Tabled};
use undertone_node::{Noise, Oracle, OracleError, Private, PrivateGradients};
use undertone_privacy::sampler::{FixedSizeSampler, Sampler};
use undertone_protocol::{Answer, Exchange, Question};

use crate::oracle_gradients::{clip, dataset, distances, exposed, gaussian, gradient_at, poisson};

/// Invariant I4 for oracles that are asked together: batches, noise, refusals and errors are those
/// of oracles that are asked one after the other.
#[test]
fn oracles_that_are_asked_together_answer_as_they_would_alone() {
    let one = Sampler::FixedSize(FixedSizeSampler::new(1, 4).unwrap());
    let oracle = |k: usize| {
        let data = dataset(2, &[1.0, 0.0, 0.0, 2.0, -3.0, 0.5, 0.1, 0.1].map(|v| v + k as f64));
        let sampler = if k % 3 == 1 { poisson(0.5) } else { one };
        let noise = if k % 5 == 3 { Noise::Exposed } else { gaussian(0.5) };
        let gradients = PrivateGradients::new(distances(2), data, sampler, clip(1.0), noise);
        // Every seventh node has budget for two rounds only.
        let plan = gradients.plan(if k % 7 == 6 { 2 } else { 4 });
        exposed(Private::Gradients(gradients), plan, k as u64)
    };
    let [mut alone, mut together] = [(); 2].map(|()| (0..40).map(oracle).collect::<Vec<_>>());
    let asked = |k: usize, round| gradient_at(round, &[0.1 * k as f64, 0.5]);
    for round in 0..4 {
        let ask = |k| match k % 11 {
            10 => Exchange::Nothing,
            _ => Exchange::Asked(asked(k, round)),
        };
        let mut exchanges: Vec<_> = (0..40).map(ask).collect();
        // In two parts, the second of which begins somewhere.
        let (before, behind) = exchanges.split_at_mut(23);
        Oracle::answer_all(&mut together, 0, before).unwrap();
        Oracle::answer_all(&mut together, 23, behind).unwrap();
        for (k, (alone, exchange)) in alone.iter_mut().zip(&exchanges).enumerate() {
            match exchange {
                Exchange::Nothing => assert_eq!(k % 11, 10),
                Exchange::Asked(_) => panic!("not answered"),
                Exchange::Answered(answer) => {
                    assert_eq!(*answer, alone.answer(asked(k, round)).unwrap());
                    assert_eq!(*answer == Answer::Refused, k % 7 == 6 && round >= 2);
                }
            }
        }
    }
    for (alone, together) in alone.iter().zip(&together) {
        assert_eq!(alone.ledger(), together.ledger());
    }
    // The first that has no answer is named; those before it are answered, those behind it not
    // charged.
    let mut oracles: Vec<_> = (0..3).map(oracle).collect();
    let mut exchanges = [asked(0, 0), Question::Vector, asked(2, 0)].map(Exchange::Asked);
    let error = Oracle::answer_all(&mut oracles, 0, &mut exchanges).unwrap_err();
    assert!(matches!(error, OracleError::OtherData { .. }), "{error}");
    assert!(matches!(exchanges[0], Exchange::Answered(Answer::Released(_))));
    assert_eq!((oracles[0].ledger().len(), oracles[2].ledger().len()), (1, 0));
}

/// The same where all have one objective, whose sums and whose noise are made several at a time:
/// for any number of them, with batches of one record and of others, and with nodes that are not
/// asked, have no budget left, or have another clip norm.
#[test]
fn sums_that_are_made_together_are_those_that_each_makes_alone() {
    let objective: Arc<dyn Tabled<f64>> = Arc::new(Linear::new(5, true, Loss::Logistic));
    let records = |k: usize| {
        let values = (0..20).map(|i| ((3 * i + 7 * k) as f64).sin()).collect();
        let signs = Targets::Sign(
            (0..4).map(|i| if usize::is_multiple_of(i + k, 2) { 1.0 } else { -1.0 }).collect(),
        );
        Dataset::new(Features::Dense { width: 5, values }, signs).unwrap()
    };
    let one = Sampler::FixedSize(FixedSizeSampler::new(1, 4).unwrap());
    for (count, odd_sampler, odd_clip, odd_budget) in
        [(1, 9, 9, 9), (2, 9, 9, 9), (16, 99, 99, 99), (35, 20, 33, 99), (33, 99, 99, 17)]
    {
        let oracle = |k: usize| {
            let sampler = if k == odd_sampler { poisson(0.5) } else { one };
            let clip = if k == odd_clip { clip(0.3) } else { clip(1.0) };
            let noise = gaussian(0.5);
            let objective = Arc::clone(&objective);
            let gradients = PrivateGradients::new(objective, records(k), sampler, clip, noise);
            let plan = gradients.plan(if k == odd_budget { 1 } else { 3 });
            exposed(Private::Gradients(gradients), plan, k as u64)
        };
        let [mut alone, mut together] =
            [(); 2].map(|()| (0..count).map(oracle).collect::<Vec<_>>());
        let asked =
            |k: usize, round| gradient_at(round, &[0.1 * k as f64, 0.5, -1.0, 0.0, 2.0, 0.3]);
        for round in 0..3 {
            let ask = |k: usize| match k % 9 == 4 && round == 1 {
                true => Exchange::Nothing,
                false => Exchange::Asked(asked(k, round)),
            };
            let mut exchanges: Vec<_> = (0..count).map(ask).collect();
            Oracle::answer_all(&mut together, 0, &mut exchanges).unwrap();
            for (k, (alone, exchange)) in alone.iter_mut().zip(&exchanges).enumerate() {
                match exchange {
                    Exchange::Nothing => assert!(k % 9 == 4 && round == 1),
                    Exchange::Asked(_) => panic!("not answered"),
                    Exchange::Answered(answer) => {
                        assert_eq!(*answer, alone.answer(asked(k, round)).unwrap(), "{k}");
                        assert_eq!(*answer == Answer::Refused, k == odd_budget && round > 0);
                    }
                }
            }
        }
        for (alone, together) in alone.iter().zip(&together) {
            assert_eq!(alone.ledger(), together.ledger());
        }
    }
}

/// Invariants I2 and I4 for answers whose noise is added when they are read: they are paid for, and
/// however they are read they are the same.
#[test]
fn the_noise_of_long_answers_waits_until_they_are_read() {
    let network = Network::mlp(&[200, 60, 3], Activation::Tanh, Loss::CrossEntropy).unwrap();
    let start = network.initial::<f64>(1);
    let objective: Arc<dyn Tabled<f64>> = Arc::new(network);
    assert!(objective.dimension() > 10_000);
    let oracle = |noise: Noise| {
        // Enough of them for two threads.
        let values = (0..200 * 200).map(|i| f64::from(i % 17) / 17.0).collect();
        let targets = Targets::Class { classes: 3, of: [0, 1, 2, 1, 0].repeat(40) };
        let data = Dataset::new(Features::Dense { width: 200, values }, targets).unwrap();
        let objective = Arc::clone(&objective);
        let gradients = PrivateGradients::new(objective, data, Sampler::Full, clip(1.0), noise);
        let plan = gradients.plan(2);
        exposed(Private::Gradients(gradients), plan, 5)
    };
    let [mut one, mut other, threads] = [(); 3].map(|()| oracle(gaussian(0.5)));
    let mut threads = threads.on(2);
    for round in 0..2 {
        let ask = || gradient_at(round, &start);
        let (Answer::Pending(mut pieces), Answer::Pending(whole)) =
            (one.answer(ask()).unwrap(), other.answer(ask()).unwrap())
        else {
            panic!("long answers wait")
        };
        let mut read = Vec::new();
        while let Some((first, piece)) = pieces.next_piece() {
            assert_eq!(first, read.len());
            read.extend_from_slice(piece.get());
        }
        assert_eq!(whole.finish().get(), &read);
        let at_once = threads.answer(ask()).unwrap();
        assert!(matches!(&at_once, Answer::Released(value) if *value.get() == read));
        assert_eq!((one.ledger().len(), one.ledger()), (round + 1, other.ledger()));
        // The noise is there: what is left without it differs everywhere.
        let open = oracle(Noise::Exposed).answer(ask()).unwrap().released().unwrap();
        let noise: Vec<f64> = read.iter().zip(open.get()).map(|(a, b)| a - b).collect();
        let variance = noise.iter().map(|v| v * v).sum::<f64>() / noise.len() as f64;
        assert!(noise.iter().all(|v| *v != 0.0) && (variance - 0.25).abs() < 0.02, "{variance}");
    }
    assert_eq!(one.answer(gradient_at(2, &start)).unwrap(), Answer::Refused);
}
