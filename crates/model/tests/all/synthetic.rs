//! What can be learned from the data sets that ship with the product.

use undertone_model::dataset::Targets;
use undertone_model::{
    Batch, Dataset, Linear, Loss, Objective, Scratch, Softmax, measure, synthetic,
};

/// Minimises the mean loss by gradient descent with momentum.
fn train(
    objective: &dyn Objective<f32>,
    data: &Dataset<f32>,
    step: f32,
    rounds: usize,
) -> Vec<f32> {
    let d = objective.dimension();
    let (mut x, mut velocity, mut gradient) = (vec![0.0; d], vec![0.0; d], vec![0.0; d]);
    let scratch = &mut Scratch::default();
    for _ in 0..rounds {
        objective.gradient(&x, Batch::all(data), scratch, &mut gradient);
        for k in 0..d {
            velocity[k] = 0.95 * velocity[k] - step * gradient[k] / data.records() as f32;
            x[k] += velocity[k];
        }
    }
    x
}

fn scores(objective: &dyn Objective<f32>, x: &[f32], data: &Dataset<f32>) -> Vec<f32> {
    let mut scores = vec![0.0; data.records() * objective.outputs()];
    objective.scores(x, Batch::all(data), &mut Scratch::default(), &mut scores);
    scores
}

fn halves(data: &Dataset<f32>, first: usize) -> (Dataset<f32>, Dataset<f32>) {
    let records: Vec<usize> = (0..data.records()).collect();
    (data.select(&records[..first]), data.select(&records[first..]))
}

/// How much more often the sign is positive in group 1.
fn label_difference(data: &Dataset<f32>) -> f64 {
    let Targets::Sign(signs) = data.targets() else { unreachable!() };
    measure::risk_difference(signs, Batch::all(data))
}

#[test]
fn a_census_is_learnable_and_as_unfair_as_asked() {
    for (bias, low, high) in [(0.0, -0.02, 0.02), (1.0, 0.2, 0.4)] {
        let data = synthetic::census::<f32>(7, 40_000, bias);
        let Targets::Sign(signs) = data.targets() else { unreachable!() };
        let positive = signs.iter().filter(|y| **y > 0.0).count() as f64 / 40_000.0;
        assert!((0.22..0.28).contains(&positive), "{positive}");
        let difference = label_difference(&data);
        assert!((low..high).contains(&difference), "{bias}: {difference}");
        for record in 0..data.records() {
            let row = data.dense_row(record).unwrap();
            let norm: f64 = row.iter().map(|v| f64::from(*v).powi(2)).sum();
            assert!(norm <= 1.0, "{norm}");
        }
        let (train_data, test_data) = halves(&data, 20_000);
        let model = Linear::new(data.width(), true, Loss::Logistic);
        let x = train(&model, &train_data, 2.0, 300);
        let accuracy = measure::accuracy(&scores(&model, &x, &test_data), Batch::all(&test_data));
        assert!((0.80..0.86).contains(&accuracy), "{bias}: {accuracy}");
    }
}

#[test]
fn images_ask_for_more_than_a_linear_model() {
    let data = synthetic::images::<f32>(3, 1_500, [1, 28, 28]);
    let (train_data, test_data) = halves(&data, 1_200);
    let model = Softmax::new(data.width(), 10, true, Loss::CrossEntropy);
    let x = train(&model, &train_data, 0.005, 60);
    let linear = measure::accuracy(&scores(&model, &x, &test_data), Batch::all(&test_data));
    // The nearest neighbour stands in for models that see more than a line.
    let (Targets::Class { of: known, .. }, Targets::Class { of: asked, .. }) =
        (train_data.targets(), test_data.targets())
    else {
        unreachable!()
    };
    let mut right = 0;
    for (record, class) in asked.iter().enumerate() {
        let row = test_data.dense_row(record).unwrap();
        let distance = |other: usize| {
            let other = train_data.dense_row(other).unwrap();
            row.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum::<f32>()
        };
        let nearest = (0..known.len()).min_by(|a, b| distance(*a).total_cmp(&distance(*b)));
        right += usize::from(known[nearest.unwrap()] == *class);
    }
    let neighbour = right as f64 / asked.len() as f64;
    assert!((0.2..0.85).contains(&linear), "{linear} {neighbour}");
    assert!(neighbour > linear + 0.1, "{linear} {neighbour}");
    let colour = synthetic::images::<f32>(3, 10, [3, 32, 32]);
    assert_eq!((colour.width(), colour.image()), (3072, Some([3, 32, 32])));
}

#[test]
fn a_mixture_is_as_separate_as_asked() {
    let accuracy = |separation| {
        let data = synthetic::gaussian_mixture::<f32>(1, 2_000, 8, 3, separation);
        let model = Softmax::new(8, 3, true, Loss::CrossEntropy);
        let x = train(&model, &data, 0.05, 100);
        measure::accuracy(&scores(&model, &x, &data), Batch::all(&data))
    };
    assert!(accuracy(6.0) > 0.97, "{}", accuracy(6.0));
    assert!(accuracy(0.0) < 0.45, "{}", accuracy(0.0));
}

#[test]
fn a_regression_finds_what_was_measured() {
    let regression = synthetic::linear_regression::<f64>(5, 10, 200, 5);
    assert_eq!(regression.data.records(), 2_000);
    assert_eq!(regression.data.groups().unwrap()[1_999], 9);
    for record in 0..2_000 {
        let sum: f64 = regression.data.dense_row(record).unwrap().iter().sum();
        assert!((sum - 1.0).abs() < 1e-9);
    }
    let model = Linear::new(5, false, Loss::Squared);
    let (mut x, mut gradient) = (vec![0.0; 5], vec![0.0; 5]);
    let scratch = &mut Scratch::default();
    for _ in 0..2_000 {
        model.gradient(&x, Batch::all(&regression.data), scratch, &mut gradient);
        x.iter_mut().zip(&gradient).for_each(|(x, g)| *x -= 0.1 * g / 2_000.0);
    }
    for (x, truth) in x.iter().zip(&regression.truth) {
        assert!((x - truth).abs() < 0.02, "{x} {truth}");
    }
}

/// Bits that every machine must find again; a change of a generator changes them, and is to be
/// noted in the changelog.
#[test]
fn bits_are_the_same_everywhere() {
    let print = |data: Dataset<f64>| {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for record in 0..data.records() {
            for v in data.dense_row(record).unwrap() {
                hash = (hash ^ v.to_bits()).wrapping_mul(0x100_0000_01b3);
            }
        }
        hash
    };
    let prints = [
        print(synthetic::census(1, 100, 0.5)),
        print(synthetic::images(1, 3, [1, 28, 28])),
        print(synthetic::gaussian_mixture(1, 50, 4, 3, 2.0)),
        print(synthetic::linear_regression(1, 2, 20, 5).data),
    ];
    let expected = [
        16_135_533_796_281_256_079,
        15_134_862_251_175_941_255,
        16_567_368_394_212_221_080,
        3_372_320_388_819_248_064,
    ];
    assert_eq!(prints, expected);
}
