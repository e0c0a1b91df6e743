//! Networks, layer by layer.

use undertone_real::Real;

use super::{Graph, Window};
use crate::export::ExportError;
use crate::network::{Activation, Layer, Network};
use crate::part::Part;

/// What `GroupNorm` adds to a variance.
const LEAST_VARIANCE: f32 = 1e-5;

/// A network and its parameters. An image goes in as channels, rows and columns, a row of numbers
/// as it is. onnxruntime has convolutions in single precision only.
pub fn write_network<R: Real>(network: &Network, x: &[R]) -> Result<Vec<u8>, ExportError> {
    let expected: usize = network.parts().iter().map(Part::count).sum();
    if x.len() != expected {
        return Err(ExportError::Count { expected, got: x.len() });
    }
    let shape = network.input();
    let flat = shape[1] * shape[2] == 1;
    let graph = Graph::new(if flat { &shape[..1] } else { &shape });
    let mut writer = Writer { graph, parts: network.parts().iter(), rest: x };
    let end = writer.layers(network.layers(), Place { shape, flat })?;
    writer.flatten(end);
    Ok(writer.graph.finish(end.shape.iter().product()))
}

/// What a value of the graph is.
#[derive(Clone, Copy)]
struct Place {
    shape: [usize; 3],
    /// Whether it is a row rather than an image.
    flat: bool,
}

struct Writer<'a, R> {
    graph: Graph<R>,
    parts: std::slice::Iter<'a, Part>,
    rest: &'a [R],
}

impl<'a, R: Real> Writer<'a, R> {
    fn layers(&mut self, layers: &[Layer], from: Place) -> Result<Place, ExportError> {
        layers.iter().try_fold(from, |place, layer| self.layer(layer, place))
    }

    fn layer(&mut self, layer: &Layer, from: Place) -> Result<Place, ExportError> {
        let [channels, height, width] = from.shape;
        let image = |shape| Ok(Place { shape, flat: false });
        match layer {
            Layer::Activation(activation) => {
                self.graph.activation(match activation {
                    Activation::Sigmoid => "Sigmoid",
                    Activation::Tanh => "Tanh",
                    Activation::Relu => "Relu",
                });
                Ok(from)
            }
            Layer::Dense { outputs, bias } => {
                let place = self.flatten(from);
                let weight = self.take();
                let bias = if *bias { self.take() } else { ("", &[][..]) };
                self.graph.dense(weight, bias, *outputs);
                Ok(Place { shape: [*outputs, 1, 1], ..place })
            }
            Layer::Flatten => Ok(self.flatten(from)),
            _ if from.flat => {
                Err(ExportError::Unsupported("an image behind a row of numbers has no ONNX form"))
            }
            Layer::Conv { channels: outputs, kernel, stride, padding, bias } => {
                let window = square(*kernel, *stride, *padding);
                let (name, weight) = self.take();
                let weight = outputs_first(weight, [*kernel * *kernel, channels, *outputs]);
                let bias = if *bias { self.take() } else { ("", &[][..]) };
                self.graph.convolution((name, &weight), bias, [*outputs, channels], window);
                let [height, width] = window.count([height, width]);
                image([*outputs, height, width])
            }
            Layer::MaxPool { size, stride, padding } => {
                let window = square(*size, *stride, *padding);
                self.graph.max_pool(window);
                let [height, width] = window.count([height, width]);
                image([channels, height, width])
            }
            Layer::AveragePool => {
                self.graph.average_pool();
                image([channels, 1, 1])
            }
            Layer::GroupNorm { groups } => {
                let (scale, shift) = (self.take(), self.take());
                self.graph.group_norm(*groups, from.shape, LEAST_VARIANCE, scale, shift);
                Ok(from)
            }
            Layer::Residual { main, shortcut } => {
                let start = self.graph.value();
                let end = self.layers(main, from)?;
                let long = self.graph.value();
                self.graph.go_back(start);
                self.layers(shortcut, from)?;
                self.graph.add(&long);
                Ok(end)
            }
        }
    }

    /// As a row in our order, in which the channels of a pixel are together.
    fn flatten(&mut self, from: Place) -> Place {
        if !from.flat {
            self.graph.transpose([0, 2, 3, 1]);
            self.graph.flatten();
        }
        Place { shape: [from.shape.iter().product(), 1, 1], flat: true }
    }

    /// The next part, and its name.
    fn take(&mut self) -> (&'a str, &'a [R]) {
        let part = self.parts.next().expect("a network has the parts that its layers ask for");
        let (values, rest) = self.rest.split_at(part.count());
        self.rest = rest;
        (&part.name, values)
    }
}

impl Window {
    /// How many there are, down and right.
    fn count(&self, pixels: [usize; 2]) -> [usize; 2] {
        [0, 1].map(|k| (pixels[k] + 2 * self.padding[k] - self.size[k]) / self.stride[k] + 1)
    }
}

fn square(size: usize, stride: usize, padding: usize) -> Window {
    Window { size: [size; 2], stride: [stride; 2], padding: [padding; 2] }
}

/// Weights of pixels by inputs by outputs as outputs by inputs by pixels.
fn outputs_first<R: Real>(weight: &[R], [pixels, inputs, outputs]: [usize; 3]) -> Vec<R> {
    let mut out = Vec::with_capacity(weight.len());
    for o in 0..outputs {
        for i in 0..inputs {
            out.extend((0..pixels).map(|p| weight[(p * inputs + i) * outputs + o]));
        }
    }
    out
}
