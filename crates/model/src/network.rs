//! Neural networks: layers in a row, some around others.

mod elementwise;
mod group_norm;
mod initial;
mod linear;
mod patches;
mod plan;
mod pool;
mod program;
mod run;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use undertone_real::Real;

use crate::loss::Loss;
use crate::objective::{Batch, Clipped, Objective, Scratch};
use crate::part::Part;
use crate::table::{Table, Tabled};
use plan::Plans;
use program::Program;

/// A neural network and the loss of its scores.
///
/// Parameters are one vector; [`parts`](Self::parts) says what lies where. Inside, an image lies
/// row by row and within a pixel channel by channel, so a dense layer behind an image takes its
/// numbers in that order, and the weights of a convolution are rows, columns and channels of the
/// kernel by channels of the result.
///
/// # Guarantee
///
/// That of [`Objective::clipped_sum`], where the activations and the scaled derivatives that were
/// computed stand for exact numbers.
///
/// # References
///
/// Norms without gradients: Goodfellow 2015, Efficient Per-Example Gradient Computations; for
/// convolutions Bu, Mao and Xu 2022, Scalable and Efficient Training of Large Convolutional Neural
/// Networks with Differential Privacy. Derivatives that are kept until the factor is known: Bu,
/// Wang, Zha and Karypis 2023, Differentially Private Optimization on Large Model at Small Cost.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Network {
    written: Written,
    program: Program,
    plans: Plans,
}

/// A network before its shapes are checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Written {
    input: [usize; 3],
    layers: Vec<Layer>,
    loss: Loss,
}

/// A part of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Layer {
    /// A linear function of all numbers.
    Dense {
        /// How many numbers it gives.
        outputs: usize,
        /// Whether a number is added to each.
        #[serde(default = "yes")]
        bias: bool,
    },
    /// A function of every number.
    Activation(Activation),
    /// A linear function of every square of an image.
    Conv {
        /// How many it gives.
        channels: usize,
        /// Side of the square.
        kernel: usize,
        /// From one square to the next.
        #[serde(default = "one")]
        stride: usize,
        /// Zeros around the image.
        #[serde(default)]
        padding: usize,
        /// Whether a number is added to each channel.
        #[serde(default = "yes")]
        bias: bool,
    },
    /// The greatest number of every square, channel by channel.
    MaxPool {
        /// Side of the square.
        size: usize,
        /// From one square to the next.
        stride: usize,
        /// What does not count, around the image.
        #[serde(default)]
        padding: usize,
    },
    /// The mean of every channel.
    AveragePool,
    /// Groups of channels shifted and scaled to mean zero and variance one, then every channel
    /// scaled and shifted by parameters.
    GroupNorm {
        /// As many channels in each.
        groups: usize,
    },
    /// An image as a row of numbers.
    Flatten,
    /// The sum of two ways.
    Residual {
        /// The longer one.
        main: Vec<Layer>,
        /// The shorter one; without layers it leaves everything as it is.
        #[serde(default)]
        shortcut: Vec<Layer>,
    },
}

/// A function of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// `1 / (1 + exp(-v))`.
    Sigmoid,
    /// `tanh(v)`.
    Tanh,
    /// `max(v, 0)`.
    Relu,
}

/// How a residual network begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stem {
    /// Squares of 3, every one: for small images.
    Cifar,
    /// Squares of 7, every second, and a pool: for large images.
    Torchvision,
}

/// Why layers are not a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("layer {layer}: {problem}")]
pub struct NetworkError {
    layer: String,
    problem: String,
}

impl Network {
    /// Checks that every layer fits the one before it. The input is channels, height and width; a
    /// row of numbers is so many channels of one pixel.
    pub fn new(input: [usize; 3], layers: Vec<Layer>, loss: Loss) -> Result<Self, NetworkError> {
        let program = Program::new(input, &layers)?;
        let (last, scores) = (layers.len() - 1, program.outputs());
        if scores > 1 && !matches!(loss, Loss::CrossEntropy | Loss::Tags) {
            let what = format!("the loss is of one score, not of {scores}");
            return Err(program::problem(&last.to_string(), &what));
        }
        let plans = Plans::new(&program);
        Ok(Self { written: Written { input, layers, loss }, program, plans })
    }

    /// Dense layers of these widths, the first of which is that of the input, with a function
    /// between them.
    pub fn mlp(widths: &[usize], activation: Activation, loss: Loss) -> Result<Self, NetworkError> {
        let mut layers = Vec::new();
        for &outputs in widths.iter().skip(1) {
            if !layers.is_empty() {
                layers.push(Layer::Activation(activation));
            }
            layers.push(Layer::Dense { outputs, bias: true });
        }
        Self::new([widths.first().copied().unwrap_or(0), 1, 1], layers, loss)
    }

    /// The network for digits of 28 x 28 of the examples of Opacus: 26,010 parameters.
    pub fn mnist_cnn() -> Self {
        let relu = Layer::Activation(Activation::Relu);
        let pool = Layer::MaxPool { size: 2, stride: 1, padding: 0 };
        let layers = vec![
            Layer::Conv { channels: 16, kernel: 8, stride: 2, padding: 3, bias: true },
            relu.clone(),
            pool.clone(),
            Layer::Conv { channels: 32, kernel: 4, stride: 2, padding: 0, bias: true },
            relu.clone(),
            pool,
            Layer::Flatten,
            Layer::Dense { outputs: 32, bias: true },
            relu,
            Layer::Dense { outputs: 10, bias: true },
        ];
        Self::new([1, 28, 28], layers, Loss::CrossEntropy).expect("its shapes fit")
    }

    /// A residual network of 18 layers for ten classes of coloured images of 32 x 32, with norms of
    /// 32 groups of channels.
    pub fn resnet18(stem: Stem) -> Self {
        let mut layers = match stem {
            Stem::Cifar => vec![conv(64, 3, 1, 1)],
            Stem::Torchvision => vec![conv(64, 7, 2, 3)],
        };
        layers.extend([Layer::GroupNorm { groups: 32 }, Layer::Activation(Activation::Relu)]);
        if stem == Stem::Torchvision {
            layers.push(Layer::MaxPool { size: 3, stride: 2, padding: 1 });
        }
        for (channels, stride) in [(64, 1), (128, 2), (256, 2), (512, 2)] {
            let shortcut = if stride == 1 {
                Vec::new()
            } else {
                vec![conv(channels, 1, stride, 0), Layer::GroupNorm { groups: 32 }]
            };
            layers.extend(block(channels, stride, shortcut));
            layers.extend(block(channels, 1, Vec::new()));
        }
        layers.extend([Layer::AveragePool, Layer::Dense { outputs: 10, bias: true }]);
        Self::new([3, 32, 32], layers, Loss::CrossEntropy).expect("its shapes fit")
    }

    /// Channels, height and width of a record.
    pub fn input(&self) -> [usize; 3] {
        self.written.input
    }

    /// The layers.
    pub fn layers(&self) -> &[Layer] {
        &self.written.layers
    }

    /// The loss of the scores.
    pub fn loss_function(&self) -> Loss {
        self.written.loss
    }

    /// What the parameters are, in order.
    pub fn parts(&self) -> &[Part] {
        &self.program.parts
    }

    /// Parameters to begin with: same seed, same bits on every machine.
    ///
    /// Weights are uniform with a variance of one by the number of inputs, twice that in front of
    /// a `Relu` (He et al. 2015); the scales of norms are one and all else is zero.
    pub fn initial<R: Real>(&self, seed: u64) -> Vec<R> {
        initial::initial(&self.program, seed)
    }
}

impl PartialEq for Network {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl TryFrom<Written> for Network {
    type Error = NetworkError;

    fn try_from(written: Written) -> Result<Self, NetworkError> {
        Self::new(written.input, written.layers, written.loss)
    }
}

impl From<Network> for Written {
    fn from(network: Network) -> Self {
        network.written
    }
}

impl<R: Real> Objective<R> for Network {
    fn dimension(&self) -> usize {
        self.program.dimension
    }

    fn loss(&self, x: &[R], batch: Batch<'_, R>, scratch: &mut Scratch<R>) -> f64 {
        let outputs = self.program.outputs();
        let loss = self.written.loss;
        let mut sum = 0.0;
        run::forward(&self.program, &self.plans.scores, x, batch, scratch, |start, scores| {
            for (k, scores) in scores.chunks_exact(outputs).enumerate() {
                sum += loss.value(scores, batch.target(start + k));
            }
        });
        sum
    }

    fn clipped_sum(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        clip: f64,
        scratch: &mut Scratch<R>,
        out: &mut [R],
    ) -> Clipped {
        let (loss, plan) = (self.written.loss, &self.plans.gradient);
        run::clipped(&self.program, plan, loss, x, batch, clip, None, scratch, out)
    }

    fn outputs(&self) -> usize {
        self.program.outputs()
    }

    fn scores(&self, x: &[R], batch: Batch<'_, R>, scratch: &mut Scratch<R>, out: &mut [R]) {
        let outputs = self.program.outputs();
        run::forward(&self.program, &self.plans.scores, x, batch, scratch, |start, scores| {
            out[start * outputs..][..scores.len()].copy_from_slice(scores);
        });
    }
}

impl<R: Real> Tabled<R> for Network {
    fn entry(&self) -> usize {
        self.plans.table.entry()
    }

    fn exchange(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        clip: f64,
        table: &mut Table<R>,
        scratch: &mut Scratch<R>,
        out: &mut [R],
    ) -> Clipped {
        let (loss, plan) = (self.written.loss, &self.plans.table);
        run::clipped(&self.program, plan, loss, x, batch, clip, Some(table), scratch, out)
    }
}

fn conv(channels: usize, kernel: usize, stride: usize, padding: usize) -> Layer {
    Layer::Conv { channels, kernel, stride, padding, bias: false }
}

fn block(channels: usize, stride: usize, shortcut: Vec<Layer>) -> [Layer; 2] {
    let main = vec![
        conv(channels, 3, stride, 1),
        Layer::GroupNorm { groups: 32 },
        Layer::Activation(Activation::Relu),
        conv(channels, 3, 1, 1),
        Layer::GroupNorm { groups: 32 },
    ];
    [Layer::Residual { main, shortcut }, Layer::Activation(Activation::Relu)]
}

fn yes() -> bool {
    true
}

fn one() -> usize {
    1
}
