//! Laws of networks, and numbers from elsewhere.

use undertone_real::Real;

use super::plan::{Plan, Use};
use super::program::Op;
use super::*;
use crate::dataset::{Dataset, Features, Target, Targets};
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
        Layer::Residual {
            main: vec![Layer::Residual { main: vec![activation.clone()], shortcut: vec![] }],
            shortcut: vec![],
        },
        conv(5, 2, 1, 0),
        Layer::AveragePool,
        Layer::Dense { outputs: 7, bias: false },
        activation,
        Layer::Dense { outputs: 3, bias: true },
    ];
    Network::new([2, 7, 6], layers, Loss::CrossEntropy).unwrap()
}

/// With all products deferred, or as few as possible.
fn forced(mut network: Network, deferred: bool) -> Network {
    let steps = network.program.steps.iter().map(|step| match &step.op {
        Op::Linear(linear) => deferred || linear.rows == 1,
        _ => false,
    });
    let steps: Vec<bool> = steps.collect();
    network.plans.gradient = Plan::with(&network.program, Use::Gradient, steps.clone());
    network.plans.table = Plan::with(&network.program, Use::Table, steps);
    network
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
    let network = forced(small(TANH), true);
    let targets = laws::classes(5, 3, 3);
    let data = Dataset::new(laws::sparse_features(5, 84, 3), targets).unwrap();
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
        for deferred in [false, true] {
            let network = forced(small(layer.clone()), deferred);
            check(&network, &images::<f64>(&network, 5, 1), 2);
        }
    }
    for deferred in [false, true] {
        let network = forced(small(TANH), deferred);
        check(&network, &images::<f32>(&network, 5, 1), 2);
    }
}

#[test]
fn groups_of_some_images_obey_the_laws() {
    let mut network = forced(small(TANH), true);
    for plan in [&mut network.plans.gradient, &mut network.plans.table, &mut network.plans.scores] {
        plan.records = 2;
    }
    check(&network, &images::<f64>(&network, 5, 1), 2);
}

#[test]
fn the_network_for_digits_obeys_the_laws() {
    let network = Network::mnist_cnn();
    assert_eq!(Objective::<f32>::dimension(&network), 26_010);
    laws::check(&network, &images::<f64>(&network, 4, 1), 2);
}

#[test]
fn residual_networks_clip_and_have_gradients() {
    for (stem, count) in [(Stem::Cifar, 11_173_962), (Stem::Torchvision, 11_181_642)] {
        let network = Network::resnet18(stem);
        assert_eq!(Objective::<f32>::dimension(&network), count);
        let data = images::<f64>(&network, 2, 1);
        let mut x = network.initial::<f64>(3);
        let scratch = &mut Scratch::default();
        let [mut sum, mut one, mut other] = [(); 3].map(|()| vec![0.0; count]);
        let clipped = network.clipped_sum(&x, Batch::all(&data), 0.5, scratch, &mut sum);
        assert_eq!(clipped, Clipped { shortened: 2, dropped: 0 });
        network.gradient(&x, Batch::of(&data, &[0]), scratch, &mut one);
        network.gradient(&x, Batch::of(&data, &[1]), scratch, &mut other);
        let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
        let factors = [&one, &other].map(|v| 0.5 / norm(v));
        for k in 0..count {
            let expected = factors[0] * one[k] + factors[1] * other[k];
            assert!((sum[k] - expected).abs() < 1e-9, "{} {expected}", sum[k]);
        }
        for step in
            network.program.steps.iter().filter(|s| matches!(s.op, Op::Linear(_))).step_by(6)
        {
            let Op::Linear(linear) = &step.op else { unreachable!() };
            let k = linear.weight().start + linear.weights() / 3;
            let h = 1e-7;
            let mut at = |moved: f64| {
                let before = x[k];
                x[k] += moved;
                let loss = network.loss(&x, Batch::all(&data), scratch);
                x[k] = before;
                loss
            };
            let slope = (at(h) - at(-h)) / (2.0 * h);
            assert!((slope - one[k] - other[k]).abs() < 1e-5, "{slope} {}", one[k] + other[k]);
        }
    }
}

/// torch 2.15.0, in double precision, gradients by `torch.autograd`.
#[test]
fn scores_and_norms_are_those_of_torch() {
    let layers = vec![
        conv(4, 3, 1, 1),
        Layer::GroupNorm { groups: 2 },
        TANH,
        Layer::MaxPool { size: 2, stride: 1, padding: 0 },
        Layer::Residual {
            main: vec![conv(6, 3, 2, 1), Layer::GroupNorm { groups: 3 }],
            shortcut: vec![conv(6, 1, 2, 0)],
        },
        RELU,
        Layer::Flatten,
        Layer::Dense { outputs: 5, bias: true },
        Layer::Activation(Activation::Sigmoid),
        Layer::Dense { outputs: 3, bias: true },
    ];
    let network = Network::new([2, 7, 6], layers, Loss::CrossEntropy).unwrap();
    let numbers = |count: usize, seed: usize| -> Vec<f64> {
        (0..count).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f64 / 1001.0 - 1.0).collect()
    };
    let x = numbers(641, 5);
    assert_eq!(Objective::<f64>::dimension(&network), x.len());
    let features = Features::Dense { width: 84, values: numbers(252, 9) };
    let data = Dataset::new(features, Targets::Class { classes: 3, of: vec![2, 0, 1] }).unwrap();
    let expected = [
        ([-0.027921161528005, -0.550789665529141, 0.741076403133683], 1.451_062_163_084_622),
        ([-0.177348700419766, -0.64859768780911, 0.458969671366186], 2.767_365_874_648_055),
        ([0.245796130270697, -0.005315779930026, 0.222232889965534], 2.442_449_561_639_522),
    ];
    let some = [0.197_250_297_318_586, -0.191_103_048_744_685, 0.049_522_608_721_313];
    let scratch = &mut Scratch::default();
    let (mut scores, mut gradient) = ([0.0; 3], vec![0.0; 641]);
    for (record, (expected, norm)) in expected.iter().enumerate() {
        let batch = Batch::of(&data, std::slice::from_ref(&record));
        network.scores(&x, batch, scratch, &mut scores);
        for (score, expected) in scores.iter().zip(expected) {
            assert!((score - expected).abs() < 1e-13, "{score} {expected}");
        }
        network.gradient(&x, batch, scratch, &mut gradient);
        let length = gradient.iter().map(|v| v * v).sum::<f64>().sqrt();
        assert!((length - norm).abs() < 1e-13, "{length} {norm}");
    }
    for (k, expected) in [0, 50, 100].into_iter().zip(some) {
        assert!((gradient[k] - expected).abs() < 1e-13, "{} {expected}", gradient[k]);
    }
}

#[test]
fn a_table_of_a_dense_network_keeps_factors() {
    let network = Network::mlp(&[784, 50, 10], Activation::Sigmoid, Loss::CrossEntropy).unwrap();
    assert_eq!(Tabled::<f32>::entry(&network), 50 + 50 + 10);
    // Late layers keep factors, early ones gradients.
    let network = Network::resnet18(Stem::Cifar);
    assert!(Tabled::<f32>::entry(&network) < 1_000_000);
}

#[test]
fn memory_is_bounded() {
    let plan = &Network::resnet18(Stem::Cifar).plans.gradient;
    let numbers = plan.size * plan.records + plan.workspace;
    assert!(numbers * 4 < 30_000_000, "{numbers}");
}

#[test]
fn initial_parameters_are_those_of_the_seed() {
    let network = small(RELU);
    let x = network.initial::<f64>(7);
    assert_eq!(x, network.initial::<f64>(7));
    assert_ne!(x, network.initial::<f64>(8));
    let mut start = 0;
    for part in network.parts() {
        let numbers = &x[start..start + part.count()];
        start += part.count();
        let same = |v: f64| numbers.iter().all(|n| *n == v);
        match part.name.rsplit('.').next().unwrap() {
            "weight" => assert!(numbers.iter().any(|v| *v > 0.0 && *v < 2.0), "{}", part.name),
            "scale" => assert!(same(1.0)),
            _ => assert!(same(0.0)),
        }
    }
    assert_eq!(start, x.len());
    // The first number of a stream whose place in the sequence must never change.
    let first = Source::new(7, 0).uniform(-1.0, 1.0, 1)[0];
    assert_eq!(x[0], first * (6.0_f64 / 18.0).sqrt());
}

#[test]
fn it_is_written_in_kebab_case_and_checked_when_read() {
    let network = Network::resnet18(Stem::Torchvision);
    let text = serde_json::to_string(&network).unwrap();
    assert_eq!(serde_json::from_str::<Network>(&text).unwrap(), network);
    let written = r#"{
        "input": [1, 8, 8], "loss": "cross-entropy",
        "layers": [
            {"conv": {"channels": 2, "kernel": 3}}, {"activation": "relu"},
            {"max-pool": {"size": 2, "stride": 2}}, "flatten", {"dense": {"outputs": 3}}
        ]
    }"#;
    let network: Network = serde_json::from_str(written).unwrap();
    let names: Vec<&str> = network.parts().iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["0.weight", "0.bias", "4.weight", "4.bias"]);
    assert_eq!(network.parts()[0].shape, [3, 3, 1, 2]);
    let broken = serde_json::from_str::<Network>(&written.replace("[1, 8, 8]", "[1, 2, 8]"));
    let message = broken.unwrap_err().to_string();
    assert!(message.starts_with("layer 0: squares of 3 with a stride of 1"), "{message}");
}

#[test]
fn layers_that_do_not_fit_are_named() {
    let wrong = |layers: Vec<Layer>| {
        Network::new([2, 4, 4], layers, Loss::CrossEntropy).unwrap_err().to_string()
    };
    let inner = vec![conv(2, 1, 1, 0), Layer::GroupNorm { groups: 3 }];
    let residual = Layer::Residual { main: inner, shortcut: vec![] };
    assert_eq!(wrong(vec![RELU, residual]), "layer 1.main.1: 2 channels are not 3 equal groups");
    let residual = Layer::Residual { main: vec![conv(3, 1, 1, 0)], shortcut: vec![] };
    assert_eq!(wrong(vec![residual]), "layer 0: its ways end in [3, 4, 4] and [2, 4, 4]");
    assert_eq!(wrong(vec![RELU]), "layer 0: no layer has weights");
    let empty = Layer::Residual { main: vec![], shortcut: vec![] };
    assert_eq!(wrong(vec![empty]), "layer 0: its main way computes nothing");
    let huge = Layer::Dense { outputs: usize::MAX / 8, bias: true };
    assert_eq!(wrong(vec![huge]), "layer 0: it is too large");
    let two = Network::mlp(&[3, 2], Activation::Tanh, Loss::Squared).unwrap_err();
    assert_eq!(two.to_string(), "layer 0: the loss is of one score, not of 2");
    let pool = Layer::MaxPool { size: 3, stride: 1, padding: 2 };
    assert_eq!(wrong(vec![pool]), "layer 0: the padding is more than half of the square");
}

#[test]
fn a_first_layer_without_weights_is_skipped_backwards() {
    let layers = vec![
        Layer::MaxPool { size: 2, stride: 2, padding: 0 },
        TANH,
        Layer::Residual { main: vec![conv(1, 3, 1, 1)], shortcut: vec![] },
        Layer::Flatten,
        Layer::Dense { outputs: 2, bias: true },
    ];
    // Not all laws: what is not finite may end in a pool.
    let network = Network::new([1, 6, 6], layers, Loss::CrossEntropy).unwrap();
    laws::check_table(&network, &images::<f64>(&network, 5, 1), 2);
    let layers = vec![
        Layer::Residual { main: vec![Layer::GroupNorm { groups: 1 }], shortcut: vec![] },
        Layer::AveragePool,
        Layer::Dense { outputs: 2, bias: true },
    ];
    let network = Network::new([3, 4, 4], layers, Loss::CrossEntropy).unwrap();
    check(&network, &images::<f64>(&network, 5, 1), 2);
}

#[test]
fn a_single_square_need_not_be_the_image() {
    let layers = vec![conv(5, 3, 1, 1), TANH, conv(4, 2, 2, 0), Layer::Flatten, conv(3, 1, 1, 0)];
    let network = forced(Network::new([2, 3, 3], layers, Loss::CrossEntropy).unwrap(), true);
    check(&network, &images::<f64>(&network, 5, 1), 2);
}

#[test]
fn the_first_of_equal_numbers_is_the_greatest() {
    let layers = vec![
        conv(1, 1, 1, 0),
        Layer::MaxPool { size: 2, stride: 1, padding: 0 },
        Layer::Flatten,
        Layer::Dense { outputs: 1, bias: false },
    ];
    let network = Network::new([1, 2, 2], layers, Loss::Squared).unwrap();
    let data = Dataset::new(
        Features::Dense { width: 4, values: vec![1.0, 3.0, 3.0, 2.0] },
        Targets::Real(vec![0.0]),
    )
    .unwrap();
    assert_eq!(data.target(0), Target::Real(0.0));
    let mut gradient = [0.0; 3];
    network.gradient(&[2.0, 0.5, 1.0], Batch::all(&data), &mut Scratch::default(), &mut gradient);
    // 6.5 scores; only one of the two threes counts.
    assert_eq!(gradient, [6.5 * 3.0, 6.5, 6.5 * 6.5]);
}

#[test]
fn lines_give_what_squares_give() {
    use undertone_matrix::Packing;

    use super::linear::{Linear, Tools};
    use super::patches::Patches;
    for (size, kernel, stride, padding) in
        [([7, 6], 3, 1, 1), ([8, 9], 3, 2, 1), ([9, 7], 2, 3, 0), ([6, 6], 5, 2, 2)]
    {
        let out = size.map(|n: usize| (n + 2 * padding - kernel) / stride + 1);
        let patches = Patches { channels: 3, size, kernel, stride, padding, out };
        let (rows, depth) = (out[0] * out[1], kernel * kernel * 3);
        let numbers = |count: usize, seed| Source::new(seed, 0).uniform(-1.0, 1.0, count);
        let records = 2;
        let x = numbers(depth * 4 + 4, 1);
        let input = numbers(records * patches.pixels() * 3, 2);
        let above = numbers(records * rows * 4, 3);
        let results = [false, true].map(|by_lines| {
            let patches = Some(patches);
            let linear =
                Linear { patches, rows, depth, outputs: 4, bias: true, by_lines, offset: 0 };
            let mut workspace = vec![f64::NAN; linear.workspace(records)];
            let mut packing = Packing::default();
            let mut all = [vec![0.5; above.len()], vec![0.5; input.len()], vec![0.5; depth * 4]];
            let [output, below, gradient] = &mut all;
            for add in [false, true] {
                let (workspace, packing) = (&mut workspace[..], &mut packing);
                linear.forward(&x, &input, output, Tools { workspace, packing });
                linear.backward(&x, &above, below, add, Tools { workspace, packing });
                linear.gradient(&input, &above, gradient, add, Tools { workspace, packing });
            }
            all
        });
        for (squares, lines) in results[0].iter().flatten().zip(results[1].iter().flatten()) {
            assert!((squares - lines).abs() < 1e-13, "{squares} {lines}");
        }
    }
}

#[test]
fn tables_may_keep_what_sums_do_not() {
    let network = small(TANH);
    assert_ne!(network.plans.gradient.deferred, network.plans.table.deferred);
    let data = images::<f64>(&network, 5, 1);
    let scratch = &mut Scratch::default();
    let mut table = Table::new(&network, 5);
    let x = network.initial::<f64>(3);
    let y: Vec<f64> = x.iter().map(|v| v * 1.1 + 0.01).collect();
    let [mut sum, mut before, mut out] = [(); 3].map(|()| vec![0.0; x.len()]);
    network.exchange(&x, Batch::all(&data), 0.3, &mut table, scratch, &mut before);
    network.exchange(&y, Batch::all(&data), 0.3, &mut table, scratch, &mut out);
    network.clipped_sum(&y, Batch::all(&data), 0.3, scratch, &mut sum);
    for ((sum, before), out) in sum.iter().zip(&before).zip(&out) {
        assert!((sum - before - out).abs() < 1e-12, "{sum} {before} {out}");
    }
}

/// Shapes that nobody thought of: strides, paddings, large and small images, blocks within blocks.
#[test]
fn networks_drawn_at_random_obey_the_laws() {
    for seed in 0..25 {
        let mut source = Source::new(seed, 11);
        let mut draw =
            |low: usize, high: usize| source.uniform(low as f64, (high + 1) as f64, 1)[0] as usize;
        let side = draw(4, 18);
        let mut layers = Vec::new();
        for _ in 0..draw(1, 3) {
            let kernel = draw(1, 3);
            let channels = 2 * draw(1, 12);
            layers.push(conv(channels, kernel, draw(1, 2), draw(0, kernel / 2 + 1)));
            layers.push(Layer::GroupNorm { groups: 2 });
            layers.push(TANH);
            if draw(0, 1) == 1 {
                let main = vec![conv(channels, 3, 1, 1), Layer::GroupNorm { groups: channels }];
                let shortcut =
                    if draw(0, 1) == 1 { vec![super::conv(channels, 1, 1, 0)] } else { vec![] };
                layers.push(Layer::Residual { main, shortcut });
            }
        }
        layers.push(Layer::AveragePool);
        layers.push(Layer::Dense { outputs: 3, bias: draw(0, 1) == 1 });
        // Some images become too small on the way.
        let input = [draw(1, 24), side, side];
        let Ok(network) = Network::new(input, layers, Loss::CrossEntropy) else { continue };
        laws::check(&network, &images::<f64>(&network, 4, seed), seed);
        laws::check_table(&network, &images::<f64>(&network, 4, seed), seed);
    }
}

/// Sums, what was clipped, and what tables keep, on one thread and on several.
fn check_threads<R: Real>(network: &Network, data: &Dataset<R>) {
    let [x, y] = [5, 6].map(|seed| laws::point(network, seed));
    let batch = Batch::all(data);
    let run = |threads: usize| {
        let (mut scratch, mut sum) = (Scratch::on(threads), vec![R::ZERO; x.len()]);
        let records = data.records() * network.program.multiplications();
        assert_eq!(threads > 1, scratch.threads_for(records.min(1 << 22)) > 1, "enough to do");
        let clipped = network.clipped_sum(&x, batch, 0.3, &mut scratch, &mut sum);
        let mut table = Table::new(network, data.records());
        let mut differences = [&x, &y].map(|_| vec![R::ZERO; x.len()]);
        for (x, out) in [&x, &y].into_iter().zip(&mut differences) {
            network.exchange(x, batch, 0.3, &mut table, &mut scratch, out);
        }
        (sum, clipped, differences)
    };
    let one = run(1);
    assert!(one.1.shortened > 0);
    for threads in [2, 3] {
        assert_eq!(run(threads), one, "{threads} threads");
    }
}

#[test]
fn sums_do_not_depend_on_the_number_of_threads() {
    let mlp = Network::mlp(&[784, 50, 10], Activation::Sigmoid, Loss::CrossEntropy).unwrap();
    check_threads::<f32>(&mlp, &images(&mlp, 301, 1));
    check_threads::<f64>(&mlp, &images(&mlp, 120, 1));
    // Fewer records than threads, and as many that one of three threads has none.
    let wide = Network::mlp(&[2500, 900, 2], Activation::Tanh, Loss::CrossEntropy).unwrap();
    check_threads::<f32>(&wide, &images(&wide, 1, 7));
    check_threads::<f32>(&wide, &images(&wide, 4, 7));
    // Three groups: two or three side by side, and what is left in parts.
    let digits = Network::mnist_cnn();
    assert!((17..25).contains(&digits.plans.gradient.records));
    check_threads::<f32>(&digits, &images(&digits, 49, 2));
    for deferred in [false, true] {
        let network = forced(small(TANH), deferred);
        check_threads::<f32>(&network, &images(&network, 400, 3));
    }
}

#[test]
fn threads_leave_out_what_is_not_finite() {
    let mlp = Network::mlp(&[784, 50, 10], Activation::Tanh, Loss::CrossEntropy).unwrap();
    let width = 784;
    let mut values = vec![0.01_f32; 100 * width];
    values[70 * width + 3] = f32::INFINITY;
    let targets = laws::classes(100, 10, 4);
    let data = Dataset::new(Features::Dense { width, values }, targets).unwrap();
    let x = laws::point::<f32>(&mlp, 5);
    let run = |threads| {
        let mut sum = vec![0.0; x.len()];
        let clipped =
            mlp.clipped_sum(&x, Batch::all(&data), 0.1, &mut Scratch::on(threads), &mut sum);
        (sum, clipped)
    };
    let one = run(1);
    assert_eq!(one.1.dropped, 1);
    assert!(one.0.iter().all(|v| v.is_finite()));
    assert_eq!(run(2), one);
}
