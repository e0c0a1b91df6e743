//! One plan, many variants.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Keys, Plan, PlanError, Vary};

/// A plan with one value for each varied key.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// The varied keys and their values, in the order of the plan.
    pub settings: Vec<(String, Value)>,
    /// What the values are called, where the plan says it; empty after the first of keys that vary
    /// together.
    pub names: Vec<Option<String>>,
    /// The plan without its `vary`.
    pub plan: Plan,
}

impl Variant {
    /// A name that is fit for a file, as `sparsity-0.5`; empty if nothing varies.
    pub fn label(&self) -> String {
        let short = |key: &str| key.rsplit('.').next().unwrap_or(key).to_string();
        let plain = |value: &Value| {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Object(map) => {
                    let part = |(k, v): (&String, &Value)| format!("{k}-{v}");
                    map.iter().map(part).collect::<Vec<_>>().join("-")
                }
                other => other.to_string(),
            };
            text.chars()
                .map(|c| if c.is_alphanumeric() || "-.".contains(c) { c } else { '_' })
                .collect::<String>()
        };
        let part = |(k, (key, value)): (usize, &(String, Value))| match self.names.get(k) {
            Some(Some(name)) => name.clone(),
            _ => format!("{}-{}", short(key), plain(value)),
        };
        let parts = self.settings.iter().enumerate().map(part).filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("-")
    }

    /// Whether all of `set` (as `algorithm.sparsity = 0.5`) is so in this variant.
    pub fn matches(&self, set: &Map<String, Value>) -> bool {
        let plan = serde_json::to_value(&self.plan).expect("a plan is plain data");
        set.iter().all(|(key, wanted)| at(&plan, key).is_some_and(|found| same(found, wanted)))
    }
}

/// All combinations of the varied keys' values, the last key running fastest.
pub fn expand(plan: &Value) -> Result<Vec<Variant>, PlanError> {
    let base: Plan = read(plan)?;
    let mut bare = plan.clone();
    if let Some(table) = bare.as_object_mut() {
        table.remove("vary");
    }
    let mut found = vec![(Vec::new(), Vec::new(), bare)];
    for (index, vary) in base.vary.iter().enumerate() {
        if vary.values.is_empty() {
            return Err(PlanError::new(format!("vary.{index}.values"), "needs at least one value"));
        }
        check_names(index, vary)?;
        let mut next = Vec::with_capacity(found.len() * vary.values.len());
        for (settings, names, value) in &found {
            for (k, chosen) in vary.values.iter().enumerate() {
                let mut value = value.clone();
                let mut settings: Vec<(String, Value)> = settings.clone();
                let mut names: Vec<Option<String>> = names.clone();
                let mut name = vary.names.as_ref().map(|names| names[k].clone());
                for (key, chosen) in vary.pairs(index, chosen)? {
                    overlay(&mut value, key, chosen.clone())
                        .map_err(|e| PlanError::new(format!("vary.{index}.key"), e.to_string()))?;
                    settings.push((key.clone(), chosen.clone()));
                    // One name is enough for keys that vary together.
                    names.push(name.as_mut().map(std::mem::take));
                }
                next.push((settings, names, value));
            }
        }
        found = next;
    }
    let variant = |(settings, names, value): (Vec<(String, Value)>, _, Value)| {
        let plan =
            read(&value).map_err(|error| PlanError { key: culprit(&base, &settings), ..error })?;
        Ok(Variant { settings, names, plan })
    };
    let variants = found.into_iter().map(variant).collect::<Result<Vec<_>, PlanError>>()?;
    for (index, band) in base.expected.iter().enumerate() {
        band.check(index, &variants)?;
    }
    Ok(variants)
}

/// A name for each value, fit for a file, and no two the same.
fn check_names(index: usize, vary: &Vary) -> Result<(), PlanError> {
    let Some(names) = &vary.names else { return Ok(()) };
    let error = |message: String| Err(PlanError::new(format!("vary.{index}.names"), message));
    if names.len() != vary.values.len() {
        let (names, values) = (names.len(), vary.values.len());
        return error(format!("there are {names} names for {values} values; give one for each"));
    }
    let plain = |c: char| c.is_alphanumeric() || "-.".contains(c);
    if let Some(name) = names.iter().find(|name| name.is_empty() || !name.chars().all(plain)) {
        return error(format!("{name:?} names files: letters, digits, - and . only"));
    }
    match (1..names.len()).find(|k| names[..*k].contains(&names[*k])) {
        Some(k) => error(format!("{:?} is there twice", names[k])),
        None => Ok(()),
    }
}

impl Vary {
    /// Each key, and what it becomes.
    fn pairs<'a>(
        &'a self,
        index: usize,
        chosen: &'a Value,
    ) -> Result<Vec<(&'a String, &'a Value)>, PlanError> {
        let keys = match &self.key {
            Keys::One(key) => return Ok(vec![(key, chosen)]),
            Keys::Together(keys) => keys,
        };
        match chosen.as_array().filter(|list| list.len() == keys.len() && !keys.is_empty()) {
            Some(list) => Ok(keys.iter().zip(list).collect()),
            None => {
                let message = format!(
                    "{} keys vary together, so every value is a list of as many, not {chosen}",
                    keys.len()
                );
                Err(PlanError::new(format!("vary.{index}.values"), message))
            }
        }
    }
}

/// Puts `value` at `key` (as `algorithm.sparsity`), making tables on the way.
pub fn overlay(plan: &mut Value, key: &str, value: Value) -> Result<(), PlanError> {
    let mut place = plan;
    let mut parts = key.split('.').peekable();
    while let Some(part) = parts.next() {
        let error = || PlanError::new(key, format!("nothing can be put at `{part}`"));
        let table = place.as_object_mut().filter(|_| !part.is_empty()).ok_or_else(error)?;
        if parts.peek().is_none() {
            table.insert(part.into(), value);
            return Ok(());
        }
        place = table.entry(part).or_insert_with(|| Value::Object(Map::new()));
    }
    Err(PlanError::new(key, "the key is empty"))
}

/// The setting that breaks the plan by itself, or the last one.
fn culprit(base: &Plan, settings: &[(String, Value)]) -> String {
    let breaks = |(key, value): &&(String, Value)| {
        let mut plan = serde_json::to_value(base).expect("a plan is plain data");
        overlay(&mut plan, key, value.clone()).is_err() || read(&plan).is_err()
    };
    let found = settings.iter().find(breaks).or(settings.last());
    found.map_or(String::new(), |(key, _)| key.clone())
}

fn read(value: &Value) -> Result<Plan, PlanError> {
    Plan::deserialize(value).map_err(|error| PlanError::new("", error.to_string()))
}

fn at<'a>(plan: &'a Value, key: &str) -> Option<&'a Value> {
    key.split('.').try_fold(plan, |place, part| place.get(part))
}

/// Numbers are the same if their values are, though one was written `1` and the other `1.0`.
fn same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}
