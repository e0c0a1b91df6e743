//! Samplers: which records take part, and the only makers of sampled events.
//!
//! They stand beside the mechanisms, not among them: a batch is drawn before there is a secret, and
//! its [`Drawn`] mark travels with the secret until a mechanism compares it with the receipt.
//!
//! The order is debit, draw, compute, release: the receipt numbers the sampling stream as it
//! numbers the noise stream.

mod drawn;
mod table;

use std::collections::BTreeSet;

use rand::Rng;

use crate::event::Event;
use crate::ledger::Receipt;
use crate::noise::{Key, Purpose, Stream, StreamId};
use crate::units::{OutOfRange, Probability};

use self::drawn::{Law, named};

pub use self::drawn::Drawn;
pub use self::table::TableSampler;

/// The records of one round. Amplification needs the sample to be secret: an observer must not see
/// it, so it cannot be printed or encoded.
pub struct Batch {
    indices: Indices,
    drawn: Drawn,
}

/// One record needs no memory of its own: batches of one are as frequent as rounds are short.
enum Indices {
    One([usize; 1]),
    Some(Vec<usize>),
}

impl Batch {
    /// The records, increasing. For the computation on the data, not for others' eyes.
    pub fn indices(&self) -> &[usize] {
        match &self.indices {
            Indices::One(one) => one,
            Indices::Some(some) => some,
        }
    }

    pub(crate) fn mark(&self) -> &Drawn {
        &self.drawn
    }

    /// The mark for what is computed from this batch.
    pub fn drawn(&self) -> Drawn {
        self.drawn.clone()
    }
}

/// Why no batch was drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DrawError {
    /// The receipt is for something else.
    #[error(
        "receipt {serial} of node {node} is for a {event} event, not for one of this sampler; \
         debit sampler.event(mechanism.event())"
    )]
    OtherEvent {
        /// The receipt's node.
        node: u32,
        /// Its number.
        serial: u64,
        /// The name of its event.
        event: String,
    },
    /// The number of records is not the public one.
    #[error("the sampler draws from {of} records, but there are {records}")]
    OtherSize {
        /// What was promised.
        of: usize,
        /// What is there.
        records: usize,
    },
}

/// Takes every record independently with one probability.
///
/// # Guarantee
///
/// The chance of each record is `probability` rounded down to a multiple of 2^-64, independently of
/// all else; see [`Event::PoissonSampled`] for what it is worth. Divide by the expected batch size,
/// never by the drawn one.
///
/// # References
///
/// Mironov, Talwar, Zhang 2019, "Renyi differential privacy of the sampled Gaussian mechanism".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoissonSampler {
    /// The chance of a record.
    pub probability: Probability,
}

impl PoissonSampler {
    /// The event to debit for `inner` on a batch.
    pub fn event(&self, inner: Event) -> Event {
        Law::Poisson(self.probability).event(inner)
    }

    /// Draws the batch of a receipt from `records` records.
    pub fn draw(&self, records: usize, receipt: &Receipt, key: &Key) -> Result<Batch, DrawError> {
        let ours = matches!(unmasked(receipt), Event::PoissonSampled(sampled)
            if sampled.probability == self.probability);
        let indices = bernoulli(key, stream_of(ours, receipt)?, self.probability.get(), records);
        Ok(batch(Indices::Some(indices), Law::Poisson(self.probability), receipt))
    }
}

/// Takes a uniform subset of a fixed size.
///
/// # Guarantee
///
/// Every subset of `size` of the `of` records is equally likely. The number of records is public:
/// see [`Event::FixedSizeSampled`], which is about replacing a record.
///
/// # References
///
/// Balle, Barthe, Gaboardi 2018, "Privacy amplification by subsampling" (theorem 9); theory E7.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedSizeSampler {
    size: usize,
    of: usize,
    /// What every draw needs, and divisions take long.
    probability: Probability,
    surplus: u64,
}

impl FixedSizeSampler {
    /// `size` of `of` records.
    pub fn new(size: usize, of: usize) -> Result<Self, OutOfRange> {
        if size == 0 || size > of {
            let (range, value) = ("between 1 and the number of records", size as f64);
            return Err(OutOfRange { unit: "batch size", range, value });
        }
        // The quotient may round down; a chance that is stated too low would be a wrong statement.
        let quotient = size as f64 / of as f64;
        let exact = quotient * of as f64 == size as f64;
        let up = if exact { quotient } else { quotient.next_up().min(1.0) };
        let probability = Probability::new(up).expect("a part of a whole");
        Ok(Self { size, of, probability, surplus: surplus(of as u64) })
    }

    /// The chance of a record.
    pub fn probability(&self) -> Probability {
        self.probability
    }

    /// The event to debit for `inner` on a batch.
    pub fn event(&self, inner: Event) -> Event {
        Law::FixedSize(self.probability()).event(inner)
    }

    /// Draws the batch of a receipt.
    pub fn draw(&self, records: usize, receipt: &Receipt, key: &Key) -> Result<Batch, DrawError> {
        if records != self.of {
            return Err(DrawError::OtherSize { of: self.of, records });
        }
        let id = self.stream_of(receipt)?;
        let drawn = Law::FixedSize(self.probability());
        let mut stream = Stream::new(key, id);
        if self.size == 1 {
            let one = below(&mut stream, self.of as u64) as usize;
            return Ok(batch(Indices::One([one]), drawn, receipt));
        }
        // Floyd: a uniform subset with one draw an element.
        let mut chosen = BTreeSet::new();
        for last in self.of - self.size..self.of {
            let candidate = below(&mut stream, last as u64 + 1) as usize;
            if !chosen.insert(candidate) {
                chosen.insert(last);
            }
        }
        Ok(batch(Indices::Some(chosen.into_iter().collect()), drawn, receipt))
    }
}

impl FixedSizeSampler {
    fn stream_of(&self, receipt: &Receipt) -> Result<StreamId, DrawError> {
        let ours = matches!(unmasked(receipt), Event::FixedSizeSampled(sampled)
            if sampled.probability == self.probability());
        stream_of(ours, receipt)
    }

    /// The same batch of one record, if it is one and the first word of its stream, which is given,
    /// draws it: almost always.
    fn draw_from(&self, first: u64, records: usize, receipt: &Receipt) -> Option<Batch> {
        let one = kept(first, self.of as u64, self.surplus)?;
        let ours = self.size == 1 && records == self.of;
        let drawn = Law::FixedSize(self.probability);
        ours.then(|| batch(Indices::One([one as usize]), drawn, receipt))
    }
}

/// A batch that is to be drawn.
#[derive(Clone, Copy)]
pub struct Draw<'a> {
    /// How.
    pub sampler: Sampler,
    /// Of how many records.
    pub records: usize,
    /// What pays for it.
    pub receipt: &'a Receipt,
    /// Whose randomness.
    pub key: &'a Key,
}

/// How many batches are drawn at a time.
const TOGETHER: usize = 16;

/// Any of the ways to draw a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sampler {
    /// All records take part.
    Full,
    /// Every record by itself.
    Poisson(PoissonSampler),
    /// A subset of a fixed size.
    FixedSize(FixedSizeSampler),
}

impl Sampler {
    /// The event to debit for `inner` on a batch.
    pub fn event(&self, inner: Event) -> Event {
        match self {
            Self::Full => inner,
            Self::Poisson(sampler) => sampler.event(inner),
            Self::FixedSize(sampler) => sampler.event(inner),
        }
    }

    /// Draws the batch of a receipt from `records` records.
    pub fn draw(&self, records: usize, receipt: &Receipt, key: &Key) -> Result<Batch, DrawError> {
        match self {
            Self::Full => {
                let indices = Indices::Some((0..records).collect());
                Ok(Batch { indices, drawn: Drawn::full() })
            }
            Self::Poisson(sampler) => sampler.draw(records, receipt, key),
            Self::FixedSize(sampler) => sampler.draw(records, receipt, key),
        }
    }

    /// Draws several batches, each as [`Sampler::draw`] would, and hands them over in order.
    /// Batches of one record are drawn several at once.
    pub fn draw_each(draws: &[Draw<'_>], mut take: impl FnMut(Result<Batch, DrawError>)) {
        for draws in draws.chunks(TOGETHER) {
            let Some(first) = draws.first() else { return };
            // Where a stream is not known, that of the first stands in, and is not used.
            let any = StreamId::new(Purpose::Sampling, 0, 0).expect("the first of the first");
            let (mut of, mut words) = ([(first.key, any); TOGETHER], [0; TOGETHER]);
            let mut known = [false; TOGETHER];
            for (k, draw) in draws.iter().enumerate() {
                let Self::FixedSize(sampler) = draw.sampler else { continue };
                if let (1, Ok(id)) = (sampler.size, sampler.stream_of(draw.receipt)) {
                    (of[k], known[k]) = ((draw.key, id), true);
                }
            }
            if known.contains(&true) {
                Stream::first_u64s(&of[..draws.len()], &mut words);
            }
            for (k, Draw { sampler, records, receipt, key }) in draws.iter().enumerate() {
                let one = match sampler {
                    Self::FixedSize(sampler) if known[k] => {
                        sampler.draw_from(words[k], *records, receipt)
                    }
                    _ => None,
                };
                // Not by one call for both, to which either would have to go through memory.
                match one {
                    Some(one) => take(Ok(one)),
                    None => take(sampler.draw(*records, receipt, key)),
                }
            }
        }
    }

    /// How many records a batch has on average: what a mean is divided by, since it is public.
    pub fn expected_size(&self, records: usize) -> f64 {
        match self {
            Self::Full => records as f64,
            Self::Poisson(sampler) => sampler.probability.get() * records as f64,
            Self::FixedSize(sampler) => sampler.size as f64,
        }
    }
}

/// The sampled event, which may be inside a mask.
fn unmasked(receipt: &Receipt) -> &Event {
    match receipt.event() {
        Event::SdmMask(mask) => &mask.event,
        event => event,
    }
}

/// The stream that a receipt's batch is drawn from, if it paid for the sampler's event.
fn stream_of(ours: bool, receipt: &Receipt) -> Result<StreamId, DrawError> {
    let (node, serial) = (receipt.node(), receipt.serial());
    if !ours {
        return Err(DrawError::OtherEvent { node, serial, event: receipt.event().name() });
    }
    let id = StreamId::new(Purpose::Sampling, node, serial);
    Ok(id.expect("a ledger numbers nodes and debits within a stream's name"))
}

fn batch(indices: Indices, law: Law, receipt: &Receipt) -> Batch {
    Batch { indices, drawn: Drawn { law, receipt: Some(named(receipt)) } }
}

/// Those of some records that are taken, each with a probability: what [`Stream::bernoulli`] says
/// one by one.
fn bernoulli(key: &Key, id: StreamId, probability: f64, records: usize) -> Vec<usize> {
    // The product with 2^64 is exact; the conversion rounds down.
    match probability < 1.0 {
        true => Stream::below(key, id, records, (probability * 2_f64.powi(64)) as u64),
        false => (0..records).collect(),
    }
}

/// A uniform number below `bound`, by rejection.
fn below(stream: &mut Stream, bound: u64) -> u64 {
    let surplus = surplus(bound);
    loop {
        if let Some(number) = kept(stream.next_u64(), bound, surplus) {
            return number;
        }
    }
}

/// How many 64-bit numbers are left over when they are dealt out evenly to the rests by `bound`.
fn surplus(bound: u64) -> u64 {
    (u64::MAX % bound + 1) % bound
}

/// The rest by `bound` of a uniform number, unless it is one of the few that would favour some.
#[inline]
fn kept(draw: u64, bound: u64, surplus: u64) -> Option<u64> {
    (draw <= u64::MAX - surplus).then(|| draw % bound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Budget, Filter, Header, Ledger};
    use crate::units::{Adjacency, Delta, Epsilon, Order, Unit};

    /// Two-sided normal quantile for alpha = 1e-6 over fifty records.
    const Z: f64 = 5.6;

    fn ledger() -> Ledger {
        let (order, reserve) = (Order::new(2.0).unwrap(), Delta::new(0.0).unwrap());
        let filter = Filter::Renyi { order, reserve };
        let budget = Budget { epsilon: Epsilon::INFINITE, delta: Delta::new(1e-5).unwrap() };
        let (adjacency, unit) = (Adjacency::Replace, Unit::Record);
        Ledger::open(Header { node: 1, budget, adjacency, unit, filter }, vec![]).unwrap()
    }

    fn even(counts: &[u32], rounds: f64, q: f64) {
        let error = (rounds * q * (1.0 - q)).sqrt();
        for count in counts {
            assert!((f64::from(*count) - rounds * q).abs() < Z * error, "{counts:?}");
        }
    }

    #[test]
    fn poisson_takes_every_record_with_its_probability() {
        let (mut ledger, key) = (ledger(), Key::from_seed(1));
        let sampler = PoissonSampler { probability: Probability::new(0.3).unwrap() };
        let mut counts = [0; 50];
        let (mut sizes, mut squares) = (0.0, 0.0);
        for _ in 0..4000 {
            let receipt = ledger.debit(sampler.event(Event::NoOp)).unwrap();
            let batch = sampler.draw(50, &receipt, &key).unwrap();
            batch.indices().iter().for_each(|i| counts[*i] += 1);
            let size = batch.indices().len() as f64;
            (sizes, squares) = (sizes + size, squares + (size - 15.0).powi(2));
        }
        even(&counts, 4000.0, 0.3);
        assert!((sizes / 4000.0 - 15.0).abs() < Z * (10.5_f64 / 4000.0).sqrt());
        // Independent records: the size has the binomial's variance.
        assert!((squares / 4000.0 - 10.5).abs() < Z * 10.5 * (2.0_f64 / 4000.0).sqrt());
    }

    #[test]
    fn fixed_size_takes_every_record_and_every_pair_equally_often() {
        let (mut ledger, key) = (ledger(), Key::from_seed(2));
        let sampler = FixedSizeSampler::new(3, 8).unwrap();
        let (mut counts, mut pairs) = ([0; 8], [0; 64]);
        for _ in 0..8000 {
            let receipt = ledger.debit(sampler.event(Event::NoOp)).unwrap();
            let batch = sampler.draw(8, &receipt, &key).unwrap();
            let drawn = batch.indices();
            assert!(drawn.len() == 3 && drawn.windows(2).all(|w| w[0] < w[1]));
            for (k, i) in drawn.iter().enumerate() {
                counts[*i] += 1;
                drawn[k + 1..].iter().for_each(|j| pairs[8 * i + j] += 1);
            }
        }
        even(&counts, 8000.0, 3.0 / 8.0);
        let pairs: Vec<u32> = pairs.into_iter().filter(|n| *n > 0).collect();
        assert_eq!(pairs.len(), 28);
        even(&pairs, 8000.0, 3.0 / 28.0);
    }

    #[test]
    fn the_receipt_numbers_the_batch() {
        let key = Key::from_seed(3);
        let sampler = PoissonSampler { probability: Probability::new(0.5).unwrap() };
        let draw = |ledger: &mut Ledger| {
            let receipt = ledger.debit(sampler.event(Event::NoOp)).unwrap();
            sampler.draw(64, &receipt, &key).unwrap().indices().to_vec()
        };
        let mut first = ledger();
        let (a, b) = (draw(&mut first), draw(&mut first));
        assert_ne!(a, b);
        assert_eq!(a, draw(&mut ledger()));
    }

    /// Batches that are drawn together are those that are drawn one by one, in any mixture.
    #[test]
    fn batches_are_drawn_together_as_they_are_alone() {
        let mut ledgers: Vec<Ledger> = (0..40).map(|_| ledger()).collect();
        let keys: Vec<Key> = (0..40).map(Key::from_seed).collect();
        let poisson = PoissonSampler { probability: Probability::new(0.5).unwrap() };
        // A quarter of all words are rejected for the second, of so many records, which nobody
        // reads.
        let kinds = [
            Sampler::FixedSize(FixedSizeSampler::new(1, 7).unwrap()),
            Sampler::FixedSize(FixedSizeSampler::new(1, 3 << 61).unwrap()),
            Sampler::FixedSize(FixedSizeSampler::new(2, 7).unwrap()),
            Sampler::Poisson(poisson),
            Sampler::Full,
        ];
        for round in 0..50 {
            let of = |k: usize| kinds[if round % 2 == 0 { k % 5 } else { 1 }];
            let debit = |(k, ledger): (usize, &mut Ledger)| {
                let wrong = Event::NoOp.poisson_sampled(Probability::new(0.1).unwrap());
                let event = if k == 7 { wrong } else { of(k).event(Event::NoOp) };
                ledger.debit(event).unwrap()
            };
            let receipts: Vec<_> = ledgers.iter_mut().enumerate().map(debit).collect();
            let draw = |(k, receipt)| {
                let records = if of(k) == kinds[1] { 3 << 61 } else { 7 };
                Draw { sampler: of(k), records, receipt, key: &keys[k] }
            };
            let draws: Vec<Draw<'_>> = receipts.iter().enumerate().map(draw).collect();
            let mut together = Vec::new();
            Sampler::draw_each(&draws, |batch| together.push(batch));
            assert_eq!(together.len(), draws.len());
            for (together, Draw { sampler, records, receipt, key }) in together.iter().zip(&draws) {
                let alone = sampler.draw(*records, receipt, key);
                let parts = |batch: &Batch| (batch.indices().to_vec(), batch.drawn());
                assert_eq!(together.as_ref().map(parts), alone.as_ref().map(parts));
            }
        }
    }

    #[test]
    fn the_event_is_compared_as_it_is_built() {
        let [one, two] = [0.25, 0.5].map(|q| Probability::new(q).unwrap());
        let laws = [Law::Full, Law::Poisson(one), Law::Poisson(two), Law::FixedSize(one)];
        let inner = Event::NonPrivate;
        let events = laws.map(|law| law.event(inner.clone()));
        for (k, law) in laws.into_iter().enumerate() {
            let drawn = Drawn { law, receipt: None };
            for (l, event) in events.iter().enumerate() {
                assert_eq!(drawn.stands_for(event, &inner), k == l, "{law:?} {event:?}");
                assert!(!drawn.stands_for(event, &Event::NoOp));
            }
        }
    }

    #[test]
    fn sizes_are_checked() {
        assert!(FixedSizeSampler::new(0, 5).is_err());
        assert!(FixedSizeSampler::new(6, 5).is_err());
        assert_eq!(FixedSizeSampler::new(5, 5).unwrap().probability().get(), 1.0);
        assert_eq!(FixedSizeSampler::new(1, 4).unwrap().probability().get(), 0.25);
    }
}
