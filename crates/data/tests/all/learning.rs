//! Real data can be learned from. Needs the folder that `UNDERTONE_DATA` names.

use undertone_data::{Recipe, Sources, VARIABLE, load};
use undertone_model::measure::accuracy;
use undertone_model::network::Activation;
use undertone_model::{Batch, Dataset, Linear, Loss, Network, Objective, Scratch};
use undertone_real::Real;

/// Those of a recipe, or nothing with a word.
fn records<R: Real>(recipe: &str) -> Option<(Dataset<R>, Dataset<R>)> {
    let Some(folder) = std::env::var_os(VARIABLE) else {
        eprintln!("skipped: {VARIABLE} does not name a folder of data sets");
        return None;
    };
    let loaded = load(&Recipe::named(recipe).unwrap(), &Sources::new([folder.into()])).unwrap();
    Some((loaded.train, loaded.test.unwrap()))
}

fn test_accuracy<R: Real>(objective: &dyn Objective<R>, x: &[R], data: &Dataset<R>) -> f64 {
    let mut scores = vec![R::ZERO; data.records() * objective.outputs()];
    objective.scores(x, Batch::all(data), &mut Scratch::default(), &mut scores);
    accuracy(&scores, Batch::all(data))
}

/// The usual result of logistic regression on these records is between 84 and 85 percent; 75 or 76
/// is what always saying no gives.
#[test]
fn logistic_regression_on_adult() {
    let Some((train, test)) = records::<f64>("adult-105") else { return };
    let model = Linear::new(105, true, Loss::Logistic);
    let (mut x, mut ahead) = (vec![0.0; 106], vec![0.0; 106]);
    let (mut gradient, scratch) = (vec![0.0; 106], &mut Scratch::default());
    // Accelerated descent: rows are at most one long, and one beside them, so the curvature of a
    // record is at most a half.
    for k in 0..500 {
        model.gradient(&ahead, Batch::all(&train), scratch, &mut gradient);
        let momentum = f64::from(k) / f64::from(k + 3);
        for ((x, ahead), g) in x.iter_mut().zip(&mut ahead).zip(&gradient) {
            let next = *ahead - 2.0 * g / train.records() as f64;
            *ahead = next + momentum * (next - *x);
            *x = next;
        }
    }
    let accuracy = test_accuracy(&model, &x, &test);
    eprintln!("adult: {accuracy}");
    assert!((0.84..0.86).contains(&accuracy), "{accuracy}");
}

#[test]
fn a_network_on_mnist() {
    let Some((train, test)) = records::<f32>("mnist") else { return };
    let net = Network::mlp(&[784, 128, 10], Activation::Relu, Loss::CrossEntropy).unwrap();
    let mut x = net.initial::<f32>(1);
    let (mut gradient, scratch) = (vec![0.0; x.len()], &mut Scratch::default());
    let (n, batch) = (train.records(), 100);
    for (epoch, stride) in [7919, 10_007, 15_013, 20_011, 25_013, 30_011].into_iter().enumerate() {
        // A stride that is prime to the number of records visits each once, in another order.
        let order: Vec<usize> = (0..n).map(|i| i * stride % n).collect();
        let step = 0.5 / (1.0 + 0.5 * epoch as f32) / batch as f32;
        for chosen in order.chunks(batch) {
            net.gradient(&x, Batch::of(&train, chosen), scratch, &mut gradient);
            x.iter_mut().zip(&gradient).for_each(|(x, g)| *x -= step * g);
        }
    }
    let accuracy = test_accuracy(&net, &x, &test);
    eprintln!("mnist: {accuracy}");
    assert!(accuracy > 0.97, "{accuracy}");
}
