//! Exchange with `dp_accounting`'s DpEvent, as the JSON of its named tuples: objects with
//! `module_name`, `class_name` and the class's fields.
//!
//! Their events speak of noise over sensitivity under whatever neighbouring relation the
//! accountant is told; ours name the adjacency. So both directions take it as an argument.

use serde_json::{Map, Value, json};

use super::{Event, Laplace, Repeated, Sampled};
use crate::units::{Adjacency, OutOfRange, Probability, Scale, Sensitivity};

/// Why an event cannot be exchanged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DpEventError {
    /// The other side has no such event.
    #[error("dp_accounting has no event for our {0}")]
    Foreign(String),
    /// A field is missing or has another type.
    #[error("{class}: field `{field}` is missing or not {expected}")]
    Field {
        /// The class at hand.
        class: String,
        /// The field's name.
        field: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// A number is out of range.
    #[error("{class}: {error}")]
    Range {
        /// The class at hand.
        class: String,
        /// What is wrong.
        error: OutOfRange,
    },
    /// We have no such event, or it is no event at all.
    #[error("no event of ours for dp_accounting's {0}")]
    Unknown(String),
}

const MODULE: &str = "dp_accounting.dp_event";

/// Reads the JSON of a `dp_accounting` event whose sensitivities are those of `adjacency`.
pub fn from_dp_event(value: &Value, adjacency: Adjacency) -> Result<Event, DpEventError> {
    let class =
        value.get("class_name").and_then(Value::as_str).unwrap_or("value without class_name");
    let read = Reader { class, value };
    let unit = |adjacency| Sensitivity::under_only(adjacency, 1.0).expect("one is a sensitivity");
    match class {
        "NoOpDpEvent" => Ok(Event::NoOp),
        "NonPrivateDpEvent" => Ok(Event::NonPrivate),
        "GaussianDpEvent" => match read.number("noise_multiplier")? {
            0.0 => Ok(Event::NonPrivate),
            z => Ok(Event::gaussian(unit(adjacency), read.range(Scale::new(z))?)),
        },
        "LaplaceDpEvent" => match read.number("noise_multiplier")? {
            0.0 => Ok(Event::NonPrivate),
            z => {
                let scale = read.range(Scale::new(z))?;
                Ok(Event::Laplace(Laplace { sensitivity: unit(adjacency), scale }))
            }
        },
        "ComposedDpEvent" => {
            let events = read.field("events", "a list", Value::as_array)?;
            let events = events.iter().map(|event| from_dp_event(event, adjacency));
            events.collect::<Result<_, _>>().map(Event::Composed)
        }
        "SelfComposedDpEvent" => {
            let times = read.field("count", "a count", Value::as_u64)?;
            let event = Box::new(from_dp_event(read.event()?, adjacency)?);
            Ok(Event::Repeated(Repeated { event, times }))
        }
        "PoissonSampledDpEvent" => {
            let probability = read.range(Probability::new(read.number("sampling_probability")?))?;
            // The sample is about presence whatever the relation is.
            let event = Box::new(from_dp_event(read.event()?, Adjacency::AddRemove)?);
            Ok(Event::PoissonSampled(Sampled { probability, event }))
        }
        "SampledWithoutReplacementDpEvent" => {
            let size = read.field("sample_size", "a count", Value::as_u64)?;
            let of = read.field("source_dataset_size", "a count", Value::as_u64)?;
            let probability = read.range(Probability::new(size as f64 / of as f64))?;
            let event = Box::new(from_dp_event(read.event()?, Adjacency::Replace)?);
            Ok(Event::FixedSizeSampled(Sampled { probability, event }))
        }
        other => Err(DpEventError::Unknown(other.into())),
    }
}

/// Writes an event as `dp_accounting` would, for the neighbouring relation `adjacency`.
///
/// Fixed-size samples need whole numbers there: the probability becomes a fraction of 2^32, rounded
/// up.
pub fn to_dp_event(event: &Event, adjacency: Adjacency) -> Result<Value, DpEventError> {
    let foreign = || DpEventError::Foreign(event.name());
    let multiplier = |sensitivity: &Sensitivity, scale: Scale| {
        let size = sensitivity.under(adjacency).ok_or_else(foreign)?;
        Ok(scale.get() / size)
    };
    match event {
        Event::NoOp => Ok(class("NoOpDpEvent", [])),
        Event::NonPrivate => Ok(class("NonPrivateDpEvent", [])),
        Event::Gaussian(g) => {
            let z = multiplier(&g.sensitivity, g.sigma)?;
            Ok(class("GaussianDpEvent", [("noise_multiplier", json!(z))]))
        }
        Event::Laplace(l) => {
            let z = multiplier(&l.sensitivity, l.scale)?;
            Ok(class("LaplaceDpEvent", [("noise_multiplier", json!(z))]))
        }
        Event::Composed(events) => {
            let events = events.iter().map(|event| to_dp_event(event, adjacency));
            let events: Vec<Value> = events.collect::<Result<_, _>>()?;
            Ok(class("ComposedDpEvent", [("events", json!(events))]))
        }
        Event::Repeated(r) => {
            let inner = to_dp_event(&r.event, adjacency)?;
            Ok(class("SelfComposedDpEvent", [("event", inner), ("count", json!(r.times))]))
        }
        Event::PoissonSampled(s) => {
            let inner = to_dp_event(&s.event, Adjacency::AddRemove)?;
            let q = json!(s.probability.get());
            Ok(class("PoissonSampledDpEvent", [("sampling_probability", q), ("event", inner)]))
        }
        Event::FixedSizeSampled(s) => {
            let inner = to_dp_event(&s.event, Adjacency::Replace)?;
            let of = 1_u64 << 32;
            let size = (s.probability.get() * of as f64).ceil() as u64;
            let fields = [
                ("source_dataset_size", json!(of)),
                ("sample_size", json!(size)),
                ("event", inner),
            ];
            Ok(class("SampledWithoutReplacementDpEvent", fields))
        }
        _ => Err(foreign()),
    }
}

struct Reader<'a> {
    class: &'a str,
    value: &'a Value,
}

impl<'a> Reader<'a> {
    fn field<T>(
        &self,
        field: &'static str,
        expected: &'static str,
        get: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<T, DpEventError> {
        let class = || self.class.to_string();
        let found = self.value.get(field).and_then(get);
        found.ok_or_else(|| DpEventError::Field { class: class(), field, expected })
    }

    fn number(&self, field: &'static str) -> Result<f64, DpEventError> {
        self.field(field, "a number", Value::as_f64)
    }

    fn event(&self) -> Result<&'a Value, DpEventError> {
        self.field("event", "an event", Some)
    }

    fn range<T>(&self, value: Result<T, OutOfRange>) -> Result<T, DpEventError> {
        value.map_err(|error| DpEventError::Range { class: self.class.to_string(), error })
    }
}

fn class<const N: usize>(name: &str, fields: [(&str, Value); N]) -> Value {
    let mut object = Map::new();
    object.insert("module_name".into(), json!(MODULE));
    object.insert("class_name".into(), json!(name));
    for (field, value) in fields {
        object.insert(field.into(), value);
    }
    Value::Object(object)
}
