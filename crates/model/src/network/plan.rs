//! Where everything that is computed lies in memory, and until when.

use std::collections::BTreeMap;
use std::ops::Range;

use super::linear::Linear;
use super::program::{Op, Program, Step};

/// Records that go through a network together at most.
pub(super) const MOST_RECORDS: usize = 256;

/// Numbers that the values of records together should not exceed, so that they stay in the cache.
const CACHED: usize = 1 << 19;

/// If fewer records than this fit into the cache, they may take so many numbers together as well:
/// loading many weights for few records is worse than a cache that is too small.
const FEW: usize = 8;
const LARGEST: usize = 11 << 19;

/// Multiplications that take as long as to write a number of a gradient and to add it elsewhere
/// later, if there are few of them and if there are many.
const NEAR: usize = 12;
const FAR: usize = 64;

/// For every use of a network.
#[derive(Clone, Debug)]
pub(super) struct Plans {
    /// Only the scores.
    pub scores: Plan,
    /// Sums of gradients.
    pub gradient: Plan,
    /// Sums of differences to what is in a table.
    pub table: Plan,
}

/// Where values and derivatives lie. All places are for one record, and are multiplied by the
/// number of records.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Of every value.
    pub values: Vec<Place>,
    /// Of the derivatives by every value; empty if nobody needs them.
    pub derivatives: Vec<Place>,
    /// Of the gradient that every step keeps until the factor of its record is known.
    pub kept: Vec<Place>,
    /// Of what every step remembers.
    pub memory: Vec<Place>,
    /// Steps whose gradient is a product that waits for the factors.
    pub deferred: Vec<bool>,
    /// What those products start from, without the input; each place once.
    pub inputs: Vec<Place>,
    /// The derivatives that they are made of; each place once.
    pub scaled: Vec<Place>,
    /// Numbers for one record.
    pub size: usize,
    /// Numbers for computations, for any number of records.
    pub workspace: usize,
    /// How many records go together.
    pub records: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    offset: usize,
    pub size: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Scores,
    Gradient,
    Table,
}

impl Plans {
    pub fn new(program: &Program) -> Self {
        Self {
            scores: Plan::new(program, Use::Scores),
            gradient: Plan::new(program, Use::Gradient),
            table: Plan::new(program, Use::Table),
        }
    }
}

impl Place {
    /// For so many records together.
    pub fn range(&self, records: usize) -> Range<usize> {
        self.offset * records..(self.offset + self.size) * records
    }
}

impl Plan {
    fn new(program: &Program, purpose: Use) -> Self {
        let deferred = program.steps.iter().map(|step| is_deferred(step, purpose)).collect();
        Self::with(program, purpose, deferred)
    }

    /// With these steps deferred.
    pub fn with(program: &Program, purpose: Use, deferred: Vec<bool>) -> Self {
        let mut lives = Lives::default();
        let clock = Clock { steps: program.steps.len() };
        let values = lives.values(program, &deferred, clock, purpose);
        let mut derivatives = vec![None; program.sizes.len()];
        let mut kept = vec![None; program.steps.len()];
        let mut memory = vec![None; program.steps.len()];
        for (k, step) in program.steps.iter().enumerate() {
            if let Op::GroupNorm(norm) = &step.op {
                let now = clock.forward(k);
                let end = if purpose == Use::Scores { now } else { clock.backward(k) };
                memory[k] = Some(lives.born(norm.memory(), now, end));
            }
        }
        if purpose != Use::Scores {
            derivatives = lives.derivatives(program, &deferred, clock);
            for (k, step) in program.steps.iter().enumerate() {
                let size = kept_size(step, deferred[k]);
                kept[k] = (size > 0).then(|| lives.born(size, clock.backward(k), clock.end()));
            }
        }

        let (places, size) = lives.settle();
        let find = |life: &Option<usize>| life.map_or(Place::default(), |life| places[life]);
        let [values, derivatives] =
            [values, derivatives].map(|lives| lives.iter().map(find).collect::<Vec<_>>());
        let distinct = |place: &dyn Fn(&Step) -> Place| {
            let steps = program.steps.iter().zip(&deferred).filter(|(_, deferred)| **deferred);
            let mut places: Vec<Place> = steps.map(|(step, _)| place(step)).collect();
            places.sort_unstable();
            places.dedup();
            places
        };
        let mut inputs = distinct(&|step| values[step.from]);
        inputs.retain(|place| *place != values[0]);
        let scaled = distinct(&|step| derivatives[step.to]);
        let together = if size * FEW > CACHED { LARGEST } else { CACHED } / size;
        let records = together.clamp(1, MOST_RECORDS);
        let workspace = program.steps.iter().zip(&deferred).map(|(s, d)| workspace(s, *d, records));
        Self {
            inputs,
            scaled,
            kept: kept.iter().map(find).collect(),
            memory: memory.iter().map(find).collect(),
            workspace: workspace.max().unwrap_or(0),
            values,
            derivatives,
            deferred,
            size,
            records,
        }
    }

    /// How many numbers a table keeps of a record.
    pub fn entry(&self) -> usize {
        self.entries().map(|place| place.size).sum()
    }

    /// What a table keeps, in order.
    pub fn entries(&self) -> impl Iterator<Item = Place> {
        self.inputs.iter().chain(&self.scaled).chain(&self.kept).copied()
    }
}

/// Whether the gradient of a step is computed for records together, once their factors are known.
/// Otherwise it is computed for each, once, and kept.
fn is_deferred(step: &Step, purpose: Use) -> bool {
    let Op::Linear(linear) = &step.op else { return false };
    let Linear { rows, depth, outputs, .. } = *linear;
    let weights = linear.weights();
    match purpose {
        Use::Scores => false,
        _ if rows == 1 => true,
        Use::Table => {
            let input = if step.from == 0 { 0 } else { rows * depth };
            let input = linear.patches.map_or(input, |p| input.min(p.channels * p.pixels()));
            input + rows * outputs <= weights
        }
        Use::Gradient => {
            let product = rows * weights;
            let word = if weights > 1 << 15 { FAR } else { NEAR };
            rows * rows * (depth + outputs) + product < product + word * weights
        }
    }
}

/// How many numbers a step keeps of the gradient of a record.
fn kept_size(step: &Step, deferred: bool) -> usize {
    match &step.op {
        Op::Linear(linear) if !deferred => linear.weights() + linear.biases().len(),
        // The biases of a single row are its derivatives, which wait anyway.
        Op::Linear(linear) if linear.rows > 1 => linear.biases().len(),
        Op::GroupNorm(norm) => norm.count(),
        _ => 0,
    }
}

fn workspace(step: &Step, deferred: bool, records: usize) -> usize {
    match &step.op {
        Op::Linear(linear) if deferred && linear.rows > 1 => {
            linear.workspace(records).max(linear.gram_workspace())
        }
        Op::Linear(linear) => linear.workspace(records),
        Op::GroupNorm(norm) => norm.workspace(),
        Op::MaxPool(pool) => pool.workspace(),
        _ => 0,
    }
}

/// Time: first all steps, then the loss, then all steps backwards, then the products that waited.
#[derive(Clone, Copy)]
struct Clock {
    steps: usize,
}

impl Clock {
    fn forward(self, step: usize) -> usize {
        step + 1
    }

    fn loss(self) -> usize {
        self.steps + 1
    }

    fn backward(self, step: usize) -> usize {
        2 * self.steps + 1 - step
    }

    fn end(self) -> usize {
        2 * self.steps + 2
    }
}

/// What needs memory from one time to another, both included.
#[derive(Default)]
struct Lives(Vec<Life>);

struct Life {
    size: usize,
    from: usize,
    to: usize,
}

impl Lives {
    fn born(&mut self, size: usize, from: usize, to: usize) -> usize {
        self.0.push(Life { size, from, to });
        self.0.len() - 1
    }

    fn values(
        &mut self,
        program: &Program,
        deferred: &[bool],
        clock: Clock,
        purpose: Use,
    ) -> Vec<Option<usize>> {
        let mut lives: Vec<Life> =
            program.sizes.iter().map(|&size| Life { size, from: 0, to: 0 }).collect();
        lives[program.scores()].to = clock.loss();
        for (k, step) in program.steps.iter().enumerate() {
            lives[step.to].from = clock.forward(k);
            let mut used = |value: usize, time: usize| lives[value].to = lives[value].to.max(time);
            used(step.to, clock.forward(k));
            used(step.from, clock.forward(k));
            if let Op::Add { with, .. } = step.op {
                used(with, clock.forward(k));
            }
            if purpose == Use::Scores {
                continue;
            }
            let back = clock.backward(k);
            match step.op {
                Op::Linear(_) if deferred[k] => used(step.from, clock.end()),
                Op::Linear(_) | Op::GroupNorm(_) => used(step.from, back),
                Op::Activation(_) => used(step.to, back),
                Op::MaxPool(_) => [step.from, step.to].iter().for_each(|v| used(*v, back)),
                Op::AveragePool(_) | Op::Add { .. } => {}
            }
        }
        lives.into_iter().map(|life| Some(self.born(life.size, life.from, life.to))).collect()
    }

    /// Those of the two parts of a sum are that of the sum, unless something adds to it.
    fn derivatives(
        &mut self,
        program: &Program,
        deferred: &[bool],
        clock: Clock,
    ) -> Vec<Option<usize>> {
        let mut of: Vec<Option<usize>> = vec![None; program.sizes.len()];
        of[program.scores()] = Some(self.born(program.outputs(), clock.loss(), clock.loss()));
        for (k, step) in program.steps.iter().enumerate().rev() {
            let back = clock.backward(k);
            let above = of[step.to].expect("a value that nothing starts from is the scores");
            self.0[above].to = self.0[above].to.max(if deferred[k] { clock.end() } else { back });
            if let Op::Add { with, alone, .. } = step.op {
                of[step.from] = Some(above);
                if alone {
                    of[with] = Some(above);
                } else if with > 0 && of[with].is_none() {
                    of[with] = Some(self.born(program.sizes[with], back, back));
                }
            } else if step.from > 0 && of[step.from].is_none() {
                of[step.from] = Some(self.born(program.sizes[step.from], back, back));
            }
        }
        of
    }

    /// Gives each a place that no other has at the same time: the greatest first, as low as it
    /// can be. Returns the places and the size of all.
    fn settle(&self) -> (Vec<Place>, usize) {
        let mut order: Vec<usize> = (0..self.0.len()).collect();
        order.sort_by_key(|life| std::cmp::Reverse(self.0[*life].size));
        let mut places: BTreeMap<usize, Place> = BTreeMap::new();
        for &k in &order {
            let life = &self.0[k];
            let mut taken: Vec<Place> = places
                .iter()
                .filter(|(other, _)| {
                    let other = &self.0[**other];
                    other.from <= life.to && life.from <= other.to
                })
                .map(|(_, place)| *place)
                .collect();
            taken.sort_unstable();
            let mut offset = 0;
            for place in taken {
                if offset + life.size <= place.offset {
                    break;
                }
                offset = offset.max(place.offset + place.size);
            }
            places.insert(k, Place { offset, size: life.size });
        }
        let size = places.values().map(|place| place.offset + place.size).max().unwrap_or(0);
        (places.into_values().collect(), size)
    }
}
