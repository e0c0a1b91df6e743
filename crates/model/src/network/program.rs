//! Layers as steps from value to value, with all shapes checked.

use std::ops::Range;

use super::group_norm::GroupNorm;
use super::linear::Linear;
use super::patches::Patches;
use super::pool::{AveragePool, MaxPool};
use super::{Activation, Layer, NetworkError};
use crate::part::Part;

/// What is computed from the input, which is value 0, to the scores, which are the last value.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// In the order of computation.
    pub steps: Vec<Step>,
    /// How many numbers each value has, for a record.
    pub sizes: Vec<usize>,
    /// What the parameters are.
    pub parts: Vec<Part>,
    /// How many parameters there are.
    pub dimension: usize,
    /// Channels and pixels of the input.
    pub input: [usize; 2],
    /// Whether the first layer is a linear function of whole records, and nothing else needs them.
    pub takes_rows: bool,
}

/// One value from another, or from two.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub op: Op,
    pub from: usize,
    pub to: usize,
    /// Whether a later step has already left a derivative of what this one starts from.
    pub adds: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Op {
    Linear(Linear),
    Activation(Activation),
    MaxPool(MaxPool),
    AveragePool(AveragePool),
    GroupNorm(GroupNorm),
    /// The sum with another value.
    Add {
        with: usize,
        /// Whether nothing else starts from that value.
        alone: bool,
        /// As `adds` of a step, for that value.
        adds: bool,
    },
}

impl Step {
    /// How many multiplications it takes for a record, but for few.
    pub fn multiplications(&self) -> usize {
        match &self.op {
            Op::Linear(linear) => linear.rows * linear.weights(),
            _ => 0,
        }
    }

    /// Where its parameters are.
    pub fn parameters(&self) -> Range<usize> {
        match &self.op {
            Op::Linear(linear) => linear.weight().start..linear.biases().end,
            Op::GroupNorm(norm) => norm.offset..norm.offset + norm.count(),
            _ => 0..0,
        }
    }
}

impl Program {
    /// How many multiplications the scores of a record take, but for few.
    pub fn multiplications(&self) -> usize {
        self.steps.iter().map(Step::multiplications).sum()
    }

    pub fn new(input: [usize; 3], layers: &[Layer]) -> Result<Self, NetworkError> {
        let [channels, height, width] = input;
        let size = count("0", &input)?;
        let mut builder = Builder { steps: Vec::new(), sizes: vec![size], parts: Vec::new() };
        if size == 0 {
            return Err(problem("0", "the input has no numbers"));
        }
        builder.layers(layers, "", Value { number: 0, shape: input })?;
        if !builder.steps.iter().any(|step| matches!(step.op, Op::Linear(_))) {
            return Err(problem("0", "no layer has weights"));
        }
        let dimension = builder.dimension();
        let Builder { mut steps, sizes, parts } = builder;
        let mut left = vec![false; sizes.len()];
        for step in steps.iter_mut().rev() {
            if let Op::Add { with, adds, .. } = &mut step.op {
                *adds = left[*with];
                left[*with] = true;
            }
            step.adds = left[step.from];
            left[step.from] = true;
        }
        let takes_rows = steps.iter().all(|step| match &step.op {
            Op::Linear(linear) if step.from == 0 => linear.rows == 1 && linear.patches.is_none(),
            Op::Add { with: 0, .. } => false,
            _ => step.from > 0,
        });
        let input = [channels, height * width];
        // Records lie channel by channel, which is pixel by pixel if there is one of either.
        let takes_rows = takes_rows && input.contains(&1);
        Ok(Self { steps, sizes, parts, dimension, input, takes_rows })
    }

    /// How many scores a record has.
    pub fn outputs(&self) -> usize {
        self.sizes[self.scores()]
    }

    /// The value of the scores.
    pub fn scores(&self) -> usize {
        self.sizes.len() - 1
    }
}

#[derive(Clone, Copy)]
struct Value {
    number: usize,
    /// Channels, height and width.
    shape: [usize; 3],
}

struct Builder {
    steps: Vec<Step>,
    sizes: Vec<usize>,
    parts: Vec<Part>,
}

impl Builder {
    fn layers(
        &mut self,
        layers: &[Layer],
        prefix: &str,
        mut value: Value,
    ) -> Result<Value, NetworkError> {
        for (k, layer) in layers.iter().enumerate() {
            value = self.layer(layer, &format!("{prefix}{k}"), value)?;
        }
        Ok(value)
    }

    fn layer(&mut self, layer: &Layer, name: &str, from: Value) -> Result<Value, NetworkError> {
        let [channels, height, width] = from.shape;
        let size = channels * height * width;
        match *layer {
            Layer::Dense { outputs, bias } => {
                if outputs == 0 {
                    return Err(problem(name, "there are no outputs"));
                }
                let linear = self.linear(name, None, 1, vec![size], outputs, bias)?;
                self.step(name, Op::Linear(linear), from, [outputs, 1, 1])
            }
            Layer::Activation(activation) => {
                self.step(name, Op::Activation(activation), from, from.shape)
            }
            Layer::Conv { channels: outputs, kernel, stride, padding, bias } => {
                if outputs == 0 {
                    return Err(problem(name, "there are no channels"));
                }
                let [rows, columns] = windows(name, [height, width], kernel, stride, padding)?;
                let size = [height, width];
                let patches =
                    Patches { channels, size, kernel, stride, padding, out: [rows, columns] };
                let depth = vec![kernel, kernel, channels];
                // A square of one pixel, and every one, is the image as it is.
                let patches = (kernel > 1 || stride > 1 || padding > 0).then_some(patches);
                let linear = self.linear(name, patches, rows * columns, depth, outputs, bias)?;
                self.step(name, Op::Linear(linear), from, [outputs, rows, columns])
            }
            Layer::MaxPool { size, stride, padding } => {
                let out = windows(name, [height, width], size, stride, padding)?;
                if 2 * padding > size {
                    return Err(problem(name, "the padding is more than half of the square"));
                }
                let from_size = [height, width];
                let pool = MaxPool { channels, from: from_size, size, stride, padding, out };
                self.step(name, Op::MaxPool(pool), from, [channels, out[0], out[1]])
            }
            Layer::AveragePool => {
                let pool = AveragePool { channels, pixels: height * width };
                self.step(name, Op::AveragePool(pool), from, [channels, 1, 1])
            }
            Layer::GroupNorm { groups } => {
                if groups == 0 || !channels.is_multiple_of(groups) {
                    let what = format!("{channels} channels are not {groups} equal groups");
                    return Err(problem(name, &what));
                }
                let offset = self.dimension();
                self.parts.push(Part::new(&format!("{name}.scale"), &[channels]));
                self.parts.push(Part::new(&format!("{name}.shift"), &[channels]));
                let norm = GroupNorm { channels, groups, pixels: height * width, offset };
                self.step(name, Op::GroupNorm(norm), from, from.shape)
            }
            Layer::Flatten => Ok(Value { number: from.number, shape: [size, 1, 1] }),
            Layer::Residual { ref main, ref shortcut } => self.residual(main, shortcut, name, from),
        }
    }

    fn residual(
        &mut self,
        main: &[Layer],
        shortcut: &[Layer],
        name: &str,
        from: Value,
    ) -> Result<Value, NetworkError> {
        let long = self.layers(main, &format!("{name}.main."), from)?;
        let short = self.layers(shortcut, &format!("{name}.shortcut."), from)?;
        if long.shape != short.shape {
            let what = format!("its ways end in {:?} and {:?}", long.shape, short.shape);
            return Err(problem(name, &what));
        }
        if long.number == from.number {
            return Err(problem(name, "its main way computes nothing"));
        }
        let sum = Op::Add { with: short.number, alone: short.number != from.number, adds: false };
        self.step(name, sum, long, long.shape)
    }

    fn linear(
        &mut self,
        name: &str,
        patches: Option<Patches>,
        rows: usize,
        mut shape: Vec<usize>,
        outputs: usize,
        bias: bool,
    ) -> Result<Linear, NetworkError> {
        let offset = self.dimension();
        let depth = count(name, &shape)?;
        shape.push(outputs);
        count(name, &shape)?;
        self.parts.push(Part::new(&format!("{name}.weight"), &shape));
        if bias {
            self.parts.push(Part::new(&format!("{name}.bias"), &[outputs]));
        }
        let by_lines = Linear::prefers_lines(patches);
        Ok(Linear { patches, rows, depth, outputs, bias, by_lines, offset })
    }

    fn step(
        &mut self,
        name: &str,
        op: Op,
        from: Value,
        shape: [usize; 3],
    ) -> Result<Value, NetworkError> {
        let to = self.sizes.len();
        self.sizes.push(count(name, &shape)?);
        self.steps.push(Step { op, from: from.number, to, adds: false });
        Ok(Value { number: to, shape })
    }

    fn dimension(&self) -> usize {
        self.parts.iter().map(Part::count).sum()
    }
}

/// Numbers of a value or a part at most: so many are meant by nobody.
const MOST: usize = 1 << 40;

fn count(name: &str, shape: &[usize]) -> Result<usize, NetworkError> {
    let product = shape.iter().try_fold(1, |product: usize, n| product.checked_mul(*n));
    product.filter(|product| *product <= MOST).ok_or_else(|| problem(name, "it is too large"))
}

/// How many squares there are from top to bottom and from left to right.
fn windows(
    name: &str,
    size: [usize; 2],
    side: usize,
    stride: usize,
    padding: usize,
) -> Result<[usize; 2], NetworkError> {
    let fits = |size: &usize| padding < side && side <= MOST && size + 2 * padding >= side;
    if stride == 0 || !size.iter().all(fits) {
        let [height, width] = size;
        let what = format!(
            "squares of {side} with a stride of {stride} and a padding of {padding} do not fit \
             into an image of {height} x {width}"
        );
        return Err(problem(name, &what));
    }
    Ok(size.map(|size| (size + 2 * padding - side) / stride + 1))
}

pub(super) fn problem(layer: &str, problem: &str) -> NetworkError {
    NetworkError { layer: layer.to_owned(), problem: problem.to_owned() }
}
