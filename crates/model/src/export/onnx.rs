//! A model as ONNX, which runs in browsers, phones and servers.
//!
//! Operator set 17, format 8. The input is called `features`, one record a row; the output is
//! `scores`. Weights keep the names of their [`Part`](crate::Part)s. An image goes in as channels,
//! rows and columns.

mod network;

use network::write_network;

use undertone_real::Real;

use super::protobuf::Message;
use super::{ExportError, check_count, precision};
use crate::model::Model;

const FORMAT: i64 = 8;
const OPERATORS: i64 = 17;

/// The model and its parameters. A mean says nothing of records, so it has no such form.
pub fn write_onnx<R: Real>(model: &Model, x: &[R]) -> Result<Vec<u8>, ExportError> {
    check_count(model, x.len())?;
    let (features, outputs) = match *model {
        Model::Mean { .. } => {
            return Err(ExportError::Unsupported("a mean is not a function of records"));
        }
        Model::Linear { features, .. }
        | Model::Logistic { features, .. }
        | Model::ParityLogistic { features, .. }
        | Model::SmoothedHinge { features, .. } => (features, 1),
        Model::Softmax { features, classes, .. } => (features, classes),
        Model::Tags { features, tags, .. } => (features, tags),
        Model::Network(ref network) => return write_network(network, x),
    };
    let (weight, bias) = x.split_at(features * outputs);
    // The multiplier is no part of a score.
    let multiplier = usize::from(matches!(model, Model::ParityLogistic { .. }));
    let bias = &bias[..bias.len() - multiplier];
    let mut graph = Graph::new(&[features]);
    graph.dense(("weight", weight), ("bias", bias), outputs);
    Ok(graph.finish(outputs))
}

/// A model that is being written, layer after layer: each takes what the one before gives.
#[derive(Debug)]
pub struct Graph<R> {
    input: Vec<usize>,
    /// The name of what the next layer takes.
    value: String,
    nodes: Vec<Message>,
    weights: Vec<Message>,
    number: std::marker::PhantomData<R>,
}

/// How pixels are visited by a convolution or a pool, down and right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Rows and columns.
    pub size: [usize; 2],
    /// Steps.
    pub stride: [usize; 2],
    /// Zeros around the picture, on each side.
    pub padding: [usize; 2],
}

impl<R: Real> Graph<R> {
    /// With so many features, or channels, rows and columns.
    pub fn new(input: &[usize]) -> Self {
        let (input, value) = (input.to_vec(), "features".to_owned());
        let number = std::marker::PhantomData;
        Self { input, value, nodes: Vec::new(), weights: Vec::new(), number }
    }

    /// `rows weight + bias`, with weights of inputs by outputs; an empty bias is none.
    pub fn dense(&mut self, weight: (&str, &[R]), bias: (&str, &[R]), outputs: usize) {
        self.weight(weight, &[weight.1.len() / outputs, outputs]);
        self.weight(bias, &[outputs]);
        self.node("Gemm", &names(&[weight, bias]), &[]);
    }

    /// `Relu`, `Sigmoid` or `Tanh`, as ONNX calls them.
    pub fn activation(&mut self, operator: &str) {
        self.node(operator, &[], &[]);
    }

    /// Weights of outputs by inputs by rows by columns; an empty bias is none.
    pub fn convolution(
        &mut self,
        weight: (&str, &[R]),
        bias: (&str, &[R]),
        [outputs, inputs]: [usize; 2],
        window: Window,
    ) {
        self.weight(weight, &[outputs, inputs, window.size[0], window.size[1]]);
        self.weight(bias, &[outputs]);
        self.node("Conv", &names(&[weight, bias]), &window.attributes());
    }

    /// The greatest of each window.
    pub fn max_pool(&mut self, window: Window) {
        self.node("MaxPool", &[], &window.attributes());
    }

    /// The mean of each channel.
    pub fn average_pool(&mut self) {
        self.node("GlobalAveragePool", &[], &[]);
    }

    /// A picture as one row, channel by channel.
    pub fn flatten(&mut self) {
        self.node("Flatten", &[], &[]);
    }

    /// Dimensions in another order; the first is that of the records.
    pub fn transpose(&mut self, order: [usize; 4]) {
        self.node("Transpose", &[], &[integers_attribute("perm", &order)]);
    }

    /// Groups of channels to mean zero and variance one, with `least` added to the variance; then
    /// every channel scaled and shifted. The operator set has it only in pieces.
    pub fn group_norm(
        &mut self,
        groups: usize,
        shape: [usize; 3],
        least: f32,
        scale: (&str, &[R]),
        shift: (&str, &[R]),
    ) {
        let name = |what: &str| format!("{}.{what}", scale.0);
        let (ones, zeros) = (vec![R::ONE; groups], vec![R::ZERO; groups]);
        let [one, zero, split, join] = ["one", "zero", "split", "join"].map(name);
        self.weight((&one, &ones), &[groups]);
        self.weight((&zero, &zeros), &[groups]);
        self.sizes(&split, &[0, groups as i64, -1]);
        self.sizes(&join, &[0, shape[0] as i64, shape[1] as i64, shape[2] as i64]);
        self.weight(scale, &[shape[0], 1, 1]);
        self.weight(shift, &[shape[0], 1, 1]);
        self.node("Reshape", &[&split], &[]);
        let least = Message::new().text(1, "epsilon").float(2, least).integer(20, 1);
        self.node("InstanceNormalization", &[&one, &zero], &[least]);
        self.node("Reshape", &[&join], &[]);
        self.node("Mul", &[scale.0], &[]);
        self.node("Add", &[shift.0], &[]);
    }

    /// The name of what the last layer gives.
    pub fn value(&self) -> String {
        self.value.clone()
    }

    /// Goes on from what an earlier layer gave.
    pub fn go_back(&mut self, value: String) {
        self.value = value;
    }

    /// What the last layer gives plus what an earlier one gave.
    pub fn add(&mut self, value: &str) {
        self.node("Add", &[value], &[]);
    }

    /// The bytes, with so many scores a record.
    pub fn finish(mut self, outputs: usize) -> Vec<u8> {
        // The world knows what the last layer gives as scores.
        self.node("Identity", &[], &[]);
        let input = value("features", precision::<R>(), &self.input);
        let output = value("scores", precision::<R>(), &[outputs]);
        let graph = Message::new()
            .messages(1, &self.nodes)
            .text(2, "undertone")
            .messages(5, &self.weights)
            .message(11, &input)
            .message(12, &output);
        let operators = Message::new().text(1, "").integer(2, OPERATORS);
        Message::new()
            .integer(1, FORMAT)
            .text(2, "undertone")
            .message(7, &graph)
            .message(8, &operators)
            .into_bytes()
    }

    /// Adds a layer that takes the value and more by name.
    fn node(&mut self, operator: &str, more: &[&str], attributes: &[Message]) {
        let last = operator == "Identity";
        let output = if last { "scores".to_owned() } else { format!("layer{}", self.nodes.len()) };
        let node = Message::new().text(1, &self.value);
        let node = more.iter().fold(node, |node, name| node.text(1, name));
        let node = node.text(2, &output).text(3, &output).text(4, operator);
        self.nodes.push(node.messages(5, attributes));
        self.value = output;
    }

    fn sizes(&mut self, name: &str, values: &[i64]) {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let tensor = Message::new().integer(1, values.len() as i64).integer(2, 7);
        self.weights.push(tensor.text(8, name).bytes(9, &bytes));
    }

    fn weight(&mut self, (name, values): (&str, &[R]), shape: &[usize]) {
        if values.is_empty() {
            return;
        }
        let bytes: Vec<u8> = if size_of::<R>() == 4 {
            values.iter().flat_map(|v| (v.to_f64() as f32).to_le_bytes()).collect()
        } else {
            values.iter().flat_map(|v| v.to_f64().to_le_bytes()).collect()
        };
        let tensor = Message::new()
            .integers(1, shape.iter().map(|n| *n as i64))
            .integer(2, element(precision::<R>()))
            .text(8, name)
            .bytes(9, &bytes);
        self.weights.push(tensor);
    }
}

/// Of those that there are.
fn names<'a, R>(weights: &[(&'a str, &[R])]) -> Vec<&'a str> {
    weights.iter().filter(|(_, values)| !values.is_empty()).map(|(name, _)| *name).collect()
}

impl Window {
    fn attributes(self) -> [Message; 3] {
        let Self { size, stride, padding: [down, right] } = self;
        [
            integers_attribute("kernel_shape", &size),
            integers_attribute("strides", &stride),
            integers_attribute("pads", &[down, right, down, right]),
        ]
    }
}

fn integers_attribute(name: &str, values: &[usize]) -> Message {
    let values = values.iter().map(|n| *n as i64);
    Message::new().text(1, name).integers(8, values).integer(20, 7)
}

/// What goes in or out: any number of records of this shape.
fn value(name: &str, precision: &str, shape: &[usize]) -> Message {
    let records = Message::new().text(2, "records");
    let sizes = shape.iter().map(|n| Message::new().integer(1, *n as i64));
    let sizes: Vec<Message> = std::iter::once(records).chain(sizes).collect();
    let tensor = Message::new()
        .integer(1, element(precision))
        .message(2, &Message::new().messages(1, &sizes));
    Message::new().text(1, name).message(2, &Message::new().message(1, &tensor))
}

/// The number of a type of numbers.
fn element(precision: &str) -> i64 {
    if precision == "F32" { 1 } else { 11 }
}
