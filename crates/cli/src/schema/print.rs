//! The description as JSON schema (draft 2020-12).

use serde_json::{Map, Value, json};

use super::keys::PLAN;
use super::{Key, Shape};

/// Of a whole plan.
pub fn schema() -> Value {
    let mut schema = table(PLAN);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Undertone plan");
    schema["description"] =
        json!("What nodes have, hide, learn and say; see docs/book/src/plans.md.");
    schema
}

fn table(keys: &[Key]) -> Value {
    let property = |key: &Key| {
        let mut value = shape(&key.shape);
        value["description"] = json!(key.what);
        (key.name.to_string(), value)
    };
    let properties: Map<String, Value> = keys.iter().map(property).collect();
    let required: Vec<&str> = keys.iter().filter(|key| key.needed).map(|key| key.name).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn shape(of: &Shape) -> Value {
    match of {
        Shape::Any => json!({}),
        Shape::Boolean => json!({ "type": "boolean" }),
        Shape::Integer => json!({ "type": "integer" }),
        Shape::Number => json!({ "type": "number" }),
        Shape::Text => json!({ "type": "string" }),
        Shape::Words(words) => json!({ "enum": words }),
        Shape::List(items) => json!({ "type": "array", "items": shape(items) }),
        Shape::Table(keys) => table(keys),
        Shape::Open => json!({ "type": "object" }),
        Shape::Either(shapes) => {
            json!({ "anyOf": shapes.iter().map(shape).collect::<Vec<_>>() })
        }
    }
}
