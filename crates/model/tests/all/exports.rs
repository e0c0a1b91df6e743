//! Others read what we export. Needs Python with onnxruntime, onnx, safetensors and numpy: the
//! environment variable `UNDERTONE_PYTHON` says where. Without it the test says so and passes.

use std::path::Path;
use std::process::Command;

use undertone_model::dataset::{Features, Targets};
use undertone_model::export::onnx::{Graph, Window, write_onnx};
use undertone_model::export::{read_safetensors, write_safetensors};
use undertone_model::network::{Activation, Layer, Stem};
use undertone_model::synthetic::Source;
use undertone_model::{Batch, Dataset, Loss, Model, Network, Objective, Scratch};
use undertone_real::Real;

#[test]
fn onnxruntime_gives_our_scores() {
    let Ok(python) = std::env::var("UNDERTONE_PYTHON") else {
        eprintln!("skipped: UNDERTONE_PYTHON names no Python with onnxruntime");
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exports");
    std::fs::create_dir_all(&folder).unwrap();
    let models = [
        ("linear", Model::Linear { features: 7, intercept: false }),
        ("logistic", Model::Logistic { features: 105, intercept: true }),
        ("hinge", Model::SmoothedHinge { features: 3, intercept: true, width: 0.5 }),
        ("softmax", Model::Softmax { features: 20, classes: 10, intercept: true }),
        ("softmax_plain", Model::Softmax { features: 20, classes: 10, intercept: false }),
        ("tags", Model::Tags { features: 6, tags: 4, intercept: true }),
    ];
    for (name, model) in &models {
        save::<f32>(&folder, &format!("{name}_f32"), model);
        save::<f64>(&folder, &format!("{name}_f64"), model);
    }
    save_layers(&folder);
    let mlp = Network::mlp(&[20, 15, 7], Activation::Tanh, Loss::CrossEntropy).unwrap();
    let pictures = vec![
        Layer::Conv { channels: 4, kernel: 3, stride: 1, padding: 1, bias: false },
        Layer::Activation(Activation::Sigmoid),
        Layer::MaxPool { size: 3, stride: 2, padding: 1 },
        Layer::Dense { outputs: 5, bias: false },
    ];
    let pictures = Network::new([2, 8, 6], pictures, Loss::CrossEntropy).unwrap();
    let networks = [
        ("mlp", mlp),
        ("pictures", pictures),
        ("mnist_cnn", Network::mnist_cnn()),
        ("resnet18", Network::resnet18(Stem::Cifar)),
        ("resnet18_torchvision", Network::resnet18(Stem::Torchvision)),
    ];
    for (name, network) in &networks {
        save_network(&folder, name, network);
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/peers/check_onnx.py");
    let output = Command::new(python).arg(script).arg(&folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.lines().count(), 2 * models.len() + 1 + networks.len(), "{said}");
}

fn numbers<R: Real>(seed: u64, count: usize) -> Vec<R> {
    Source::new(seed, 0).uniform(-1.0, 1.0, count).into_iter().map(R::from_f64).collect()
}

fn save<R: Real>(folder: &Path, name: &str, model: &Model) {
    let objective = model.objective::<R>();
    let parts = model.parts();
    let width = parts[0].shape[0];
    let x: Vec<R> = numbers(1, model.dimension());
    let values: Vec<R> = numbers(2, 5 * width);
    let features = Features::Dense { width, values: values.clone() };
    let data = Dataset::new(features, Targets::None).unwrap();
    let mut scores = vec![R::ZERO; 5 * objective.outputs()];
    objective.scores(&x, Batch::all(&data), &mut Scratch::default(), &mut scores);
    let expected = serde_json::json!({
        "precision": if size_of::<R>() == 4 { "f32" } else { "f64" },
        "features": rows(&values, width),
        "scores": rows(&scores, objective.outputs()),
        "parameters": rows(&x, x.len())[0],
    });
    std::fs::write(folder.join(format!("{name}.json")), expected.to_string()).unwrap();
    std::fs::write(folder.join(format!("{name}.onnx")), write_onnx(model, &x).unwrap()).unwrap();
    let tensors = write_safetensors(model, &x).unwrap();
    std::fs::write(folder.join(format!("{name}.safetensors")), tensors).unwrap();
}

fn rows<R: Real>(values: &[R], width: usize) -> Vec<Vec<f64>> {
    values.chunks(width).map(|row| row.iter().map(|v| v.to_f64()).collect()).collect()
}

fn save_network(folder: &Path, name: &str, network: &Network) {
    let shape = network.input();
    let width = shape.iter().product();
    let mut x: Vec<f32> = network.initial(1);
    // Also where training starts at zero or one there is something to be mistaken about.
    x.iter_mut().zip(numbers::<f32>(8, 1 << 20).iter().cycle()).for_each(|(x, v)| *x += 0.01 * v);
    let values: Vec<f32> = numbers(2, 3 * width);
    let data = Dataset::new(Features::Dense { width, values: values.clone() }, Targets::None);
    let data = data.and_then(|data| data.with_image(shape)).unwrap();
    let mut scores = vec![0.0; 3 * Objective::<f32>::outputs(network)];
    network.scores(&x, Batch::all(&data), &mut Scratch::default(), &mut scores);
    let shape = if shape[1] == 1 { &shape[..1] } else { &shape };
    let expected = serde_json::json!({
        "precision": "f32",
        "shape": shape,
        "features": rows(&values, width),
        "scores": rows(&scores, scores.len() / 3),
    });
    std::fs::write(folder.join(format!("{name}.json")), expected.to_string()).unwrap();
    let model = Model::Network(Box::new(network.clone()));
    std::fs::write(folder.join(format!("{name}.onnx")), write_onnx(&model, &x).unwrap()).unwrap();
    let tensors = write_safetensors(&model, &x).unwrap();
    let (read, parameters) = read_safetensors::<f32>(&tensors).unwrap();
    assert!(read == model && parameters == x, "{name} does not read back");
}

/// Every kind of layer, against plain loops: a picture of 2 x 6 x 6, a convolution to 3 x 4 x 4, a
/// pool to 3 x 2 x 2, and 2 scores. In single precision, as onnxruntime has no other convolution.
fn save_layers(folder: &Path) {
    let (kernel, offset) = (numbers::<f32>(3, 3 * 2 * 3 * 3), numbers::<f32>(4, 3));
    let (weight, bias) = (numbers::<f32>(5, 12 * 2), numbers::<f32>(6, 2));
    let pictures = numbers::<f32>(7, 4 * 2 * 6 * 6);
    let mut graph = Graph::<f32>::new(&[2, 6, 6]);
    let window = |size, stride| Window { size: [size; 2], stride: [stride; 2], padding: [0; 2] };
    graph.convolution(("kernel", &kernel), ("offset", &offset), [3, 2], window(3, 1));
    graph.activation("Relu");
    graph.max_pool(window(2, 2));
    graph.flatten();
    graph.activation("Tanh");
    graph.dense(("weight", &weight), ("bias", &bias), 2);
    graph.activation("Sigmoid");
    let mut scores = Vec::new();
    for picture in pictures.chunks(72) {
        let convolved = |o: usize, y: usize, x: usize| {
            let mut sum = offset[o];
            for (k, w) in kernel[o * 18..][..18].iter().enumerate() {
                let (i, dy, dx) = (k / 9, k / 3 % 3, k % 3);
                sum += w * picture[i * 36 + (y + dy) * 6 + x + dx];
            }
            sum.max(0.0)
        };
        let pooled = |k: usize| {
            let (o, y, x) = (k / 4, k / 2 % 2 * 2, k % 2 * 2);
            let greatest = [(0, 0), (0, 1), (1, 0), (1, 1)]
                .map(|(dy, dx)| convolved(o, y + dy, x + dx))
                .into_iter()
                .fold(f32::NEG_INFINITY, f32::max);
            greatest.tanh()
        };
        for j in 0..2 {
            let score = (0..12).map(|k| pooled(k) * weight[k * 2 + j]).sum::<f32>() + bias[j];
            scores.push(1.0 / (1.0 + (-score).exp()));
        }
    }
    let expected = serde_json::json!({
        "precision": "f32",
        "shape": [2, 6, 6],
        "features": rows(&pictures, 72),
        "scores": rows(&scores, 2),
    });
    std::fs::write(folder.join("layers.json"), expected.to_string()).unwrap();
    std::fs::write(folder.join("layers.onnx"), graph.finish(2)).unwrap();
}
