//! A model as ONNX, which runs in browsers, phones and servers.
//!
//! Operator set 17, format 8. The input is called `features`, one record a row; the output is
//! `scores`. Weights keep the names of their [`Part`](crate::Part)s.

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
        | Model::SmoothedHinge { features, .. } => (features, 1),
        Model::Softmax { features, classes, .. } => (features, classes),
        Model::Tags { features, tags, .. } => (features, tags),
    };
    let (weight, bias) = x.split_at(features * outputs);
    let mut graph = Graph::new(&[features]);
    graph.dense(("weight", weight), ("bias", bias), outputs);
    Ok(graph.finish(outputs))
}

/// A model that is being written, layer after layer: each takes what the one before gives.
#[derive(Debug)]
pub struct Graph<R> {
    input: Vec<usize>,
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
        let number = std::marker::PhantomData;
        Self { input: input.to_vec(), nodes: Vec::new(), weights: Vec::new(), number }
    }

    /// `rows weight + bias`, with weights of inputs by outputs; an empty bias is none.
    pub fn dense(&mut self, weight: (&str, &[R]), bias: (&str, &[R]), outputs: usize) {
        self.weight(weight, &[weight.1.len() / outputs, outputs]);
        self.weight(bias, &[outputs]);
        self.node("Gemm", &[weight, bias], &[]);
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
        self.node("Conv", &[weight, bias], &window.attributes());
    }

    /// The greatest of each window.
    pub fn max_pool(&mut self, window: Window) {
        self.node("MaxPool", &[], &window.attributes());
    }

    /// A picture as one row.
    pub fn flatten(&mut self) {
        self.node("Flatten", &[], &[]);
    }

    /// The bytes, with so many scores a record.
    pub fn finish(mut self, outputs: usize) -> Vec<u8> {
        // The last layer gives what the world knows as scores.
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

    fn node(&mut self, operator: &str, weights: &[(&str, &[R])], attributes: &[Message]) {
        let count = self.nodes.len();
        let input = if count == 0 { "features".to_owned() } else { format!("layer{}", count - 1) };
        let last = operator == "Identity";
        let output = if last { "scores".to_owned() } else { format!("layer{count}") };
        let names = weights.iter().filter(|(_, values)| !values.is_empty()).map(|(name, _)| *name);
        let node = names.fold(Message::new().text(1, &input), |node, name| node.text(1, name));
        let node = node.text(2, &output).text(3, &output).text(4, operator);
        self.nodes.push(node.messages(5, attributes));
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
