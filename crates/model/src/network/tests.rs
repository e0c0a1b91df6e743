//! Laws of networks.

use undertone_real::Real;

use super::*;
use crate::dataset::{Dataset, Targets};
use crate::laws;
use crate::synthetic::Source;

const RELU: Layer = Layer::Activation(Activation::Relu);
const TANH: Layer = Layer::Activation(Activation::Tanh);

fn images<R: Real>(network: &Network, records: usize, seed: u64) -> Dataset<R> {
    let width = network.input().iter().product();
    let targets = laws::classes(records, network.program.outputs() as u32, seed);
    let data = Dataset::new(laws::features(records, width, seed), targets).unwrap();
    data.with_image(network.input()).unwrap()
}

fn check<R: Real>(network: &Network, data: &Dataset<R>, seed: u64) {
    laws::check(network, data, seed);
    laws::check_table(network, data, seed);
}

fn conv(channels: usize, kernel: usize, stride: usize, padding: usize) -> Layer {
    Layer::Conv { channels, kernel, stride, padding, bias: true }
}

/// Every kind of layer, with all ways through it that the code has.
fn small(activation: Layer) -> Network {
    let block = |first: Layer, shortcut| Layer::Residual {
        main: vec![first, Layer::GroupNorm { groups: 3 }, activation.clone(), conv(6, 3, 1, 1)],
        shortcut,
    };
    let layers = vec![
        conv(4, 3, 1, 1),
        Layer::GroupNorm { groups: 2 },
        activation.clone(),
        Layer::MaxPool { size: 3, stride: 2, padding: 1 },
        block(conv(6, 3, 2, 1), vec![super::conv(6, 1, 2, 0), Layer::GroupNorm { groups: 6 }]),
        Layer::Activation(Activation::Sigmoid),
        block(conv(6, 1, 1, 0), Vec::new()),
        Layer::Residual { main: vec![activation.clone()], shortcut: Vec::new() },
        conv(5, 2, 1, 0),
        Layer::AveragePool,
        Layer::Dense { outputs: 7, bias: false },
        activation,
        Layer::Dense { outputs: 3, bias: true },
    ];
    Network::new([2, 7, 6], layers, Loss::CrossEntropy).unwrap()
}

#[test]
fn mlps_obey_the_laws() {
    for activation in [Activation::Sigmoid, Activation::Tanh, Activation::Relu] {
        let network = Network::mlp(&[9, 5, 4, 3], activation, Loss::CrossEntropy).unwrap();
        check(&network, &images::<f64>(&network, 11, 1), 2);
        if activation != Activation::Relu {
            check(&network, &images::<f32>(&network, 11, 1), 2);
        }
    }
}

#[test]
fn sparse_records_and_other_losses_obey_the_laws() {
    let network = Network::mlp(&[20, 4, 1], Activation::Tanh, Loss::Logistic).unwrap();
    let data = Dataset::new(laws::sparse_features(9, 20, 3), laws::signs(9, 3)).unwrap();
    check::<f64>(&network, &data, 4);
    let network = Network::mlp(&[6, 5], Activation::Tanh, Loss::Tags).unwrap();
    let data = Dataset::new(laws::features(9, 6, 3), laws::tags(9, 5, 3)).unwrap();
    check::<f64>(&network, &data, 4);
    let network = Network::mlp(&[6, 3, 1], Activation::Sigmoid, Loss::Squared).unwrap();
    let data = Dataset::new(laws::features(9, 6, 3), laws::numbers(9, 3)).unwrap();
    check::<f64>(&network, &data, 4);
}

#[test]
fn many_records_go_in_groups() {
    let network = Network::mlp(&[3, 2, 2], Activation::Tanh, Loss::CrossEntropy).unwrap();
    assert_eq!(network.plans.gradient.records, plan::MOST_RECORDS);
    check(&network, &images::<f64>(&network, plan::MOST_RECORDS + 3, 1), 2);
}

#[test]
fn networks_of_images_obey_the_laws() {
    for layer in [RELU, TANH] {
        let network = small(layer);
        laws::check(&network, &images::<f64>(&network, 5, 1), 2);
    }
    let network = small(TANH);
    laws::check(&network, &images::<f32>(&network, 5, 1), 2);
}
