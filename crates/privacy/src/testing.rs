//! What the laws of several modules share: arbitrary events.

use proptest::prelude::*;

use crate::event::{
    AboveThreshold, DiscreteGaussian, Event, Gaussian, Imprecise, KNorm, Laplace, ObjectiveNoise,
    ObjectivePerturbation, Profile, Pure, Rounding, SagaSampling, SagaTable, SdmMask,
};
use crate::units::{Adjacency, ClipNorm, Delta, Epsilon, Probability, Scale, Sensitivity};

pub(crate) fn scale() -> impl Strategy<Value = Scale> {
    (0.1..100.0).prop_map(|v| Scale::new(v).unwrap())
}

pub(crate) fn probability() -> impl Strategy<Value = Probability> {
    (0.0..=1.0).prop_map(|v| Probability::new(v).unwrap())
}

pub(crate) fn adjacency() -> impl Strategy<Value = Adjacency> {
    prop_oneof![Just(Adjacency::AddRemove), Just(Adjacency::Replace)]
}

pub(crate) fn sensitivity() -> impl Strategy<Value = Sensitivity> {
    prop_oneof![
        (adjacency(), 0.0..10.0).prop_map(|(a, v)| Sensitivity::under_only(a, v).unwrap()),
        (0.0..10.0, 0.0..20.0).prop_map(|(a, r)| Sensitivity::both(a, r).unwrap()),
    ]
}

pub(crate) fn gaussian() -> impl Strategy<Value = Gaussian> {
    (sensitivity(), scale()).prop_map(|(sensitivity, sigma)| Gaussian { sensitivity, sigma })
}

fn knorm() -> impl Strategy<Value = KNorm> {
    (sensitivity(), scale(), 1_u64..1000).prop_map(|(sensitivity, rate, dimension)| KNorm {
        sensitivity,
        rate,
        dimension,
    })
}

fn rounding() -> impl Strategy<Value = Rounding> {
    prop_oneof![Just(Rounding::Nearest), Just(Rounding::OnLattice), Just(Rounding::Stochastic)]
}

fn profile() -> impl Strategy<Value = Profile> {
    (adjacency(), proptest::collection::btree_set(0_u32..1000, 1..4)).prop_map(
        |(adjacency, set)| {
            let point = |k: u32| {
                let epsilon = Epsilon::new(f64::from(k) / 100.0).unwrap();
                (epsilon, Delta::new(1.0 / (2.0 + f64::from(k))).unwrap())
            };
            Profile::new(adjacency, set.into_iter().map(point).collect()).unwrap()
        },
    )
}

fn objective() -> impl Strategy<Value = ObjectivePerturbation> {
    let noise = prop_oneof![
        gaussian().prop_map(ObjectiveNoise::Gaussian),
        knorm().prop_map(ObjectiveNoise::KNorm),
    ];
    (noise, scale(), any::<bool>()).prop_map(|(noise, curvature, sign_definite)| {
        ObjectivePerturbation { noise, curvature, sign_definite }
    })
}

fn saga() -> impl Strategy<Value = SagaTable> {
    let sampling = prop_oneof![
        Just(SagaSampling::SingleIndex),
        scale().prop_map(|expected| SagaSampling::Poisson { expected }),
    ];
    (scale(), scale(), 1_u64..10_000, sampling).prop_map(|(clip, sigma, records, sampling)| {
        let clip = ClipNorm::new(clip.get()).unwrap();
        SagaTable { clip, sigma, records, sampling }
    })
}

/// Events without other events inside.
pub(crate) fn leaf() -> impl Strategy<Value = Event> {
    prop_oneof![
        Just(Event::NoOp),
        Just(Event::NonPrivate),
        gaussian().prop_map(Event::Gaussian),
        proptest::collection::vec(gaussian(), 1..4).prop_map(Event::HeterogeneousGaussian),
        (sensitivity(), scale())
            .prop_map(|(sensitivity, scale)| Event::Laplace(Laplace { sensitivity, scale })),
        (0.0..10.0, adjacency()).prop_map(|(epsilon, adjacency)| {
            Event::Pure(Pure { epsilon: Epsilon::new(epsilon).unwrap(), adjacency })
        }),
        (gaussian(), scale(), 1_u64..1000, rounding()).prop_map(
            |(g, step, dimension, rounding)| {
                let Gaussian { sensitivity, sigma } = g;
                Event::DiscreteGaussian(DiscreteGaussian {
                    sensitivity,
                    sigma,
                    step,
                    dimension,
                    rounding,
                })
            }
        ),
        knorm().prop_map(Event::KNorm),
        objective().prop_map(Event::ObjectivePerturbation),
        profile().prop_map(Event::Profile),
        saga().prop_map(Event::SagaTable),
        (sensitivity(), scale(), scale(), 1_u64..50).prop_map(
            |(sensitivity, threshold_scale, query_scale, cutoff)| {
                Event::AboveThreshold(AboveThreshold {
                    sensitivity,
                    threshold_scale,
                    query_scale,
                    cutoff,
                })
            }
        ),
    ]
}

/// Any event, a few levels deep.
pub(crate) fn event() -> impl Strategy<Value = Event> {
    leaf().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Event::Composed),
            (inner.clone(), 0_u64..1000).prop_map(|(e, n)| e.repeated(n)),
            (inner.clone(), probability()).prop_map(|(e, q)| e.poisson_sampled(q)),
            (inner.clone(), probability()).prop_map(|(e, q)| e.fixed_size_sampled(q)),
            (inner.clone(), probability()).prop_map(|(event, transmit)| {
                Event::SdmMask(SdmMask { transmit, event: Box::new(event) })
            }),
            (inner, 0.0..1e-9).prop_map(|(event, tv)| {
                let total_variation = Probability::new(tv).unwrap();
                Event::Imprecise(Imprecise { total_variation, event: Box::new(event) })
            }),
        ]
    })
}

/// Events that a Renyi filter under add-remove prices in no time.
pub(crate) fn cheap_event() -> impl Strategy<Value = Event> {
    let plain = prop_oneof![
        (0.1..2.0, 0.5..50.0).prop_map(|(delta, sigma)| {
            let one = Sensitivity::under_only(Adjacency::AddRemove, delta).unwrap();
            Event::gaussian(one, Scale::new(sigma).unwrap())
        }),
        (0.0..0.5).prop_map(|epsilon| {
            let epsilon = Epsilon::new(epsilon).unwrap();
            Event::Pure(Pure { epsilon, adjacency: Adjacency::AddRemove })
        }),
        Just(Event::NoOp),
    ];
    (plain, 1_u64..4).prop_map(|(event, n)| if n == 1 { event } else { event.repeated(n) })
}
