//! Invariants of ARCHITECTURE.md that this crate upholds, by number.

use serde::de::DeserializeOwned;
use undertone_privacy::units::{
    ClipNorm, Delta, Epsilon, Mu, NoiseMultiplier, Order, OutOfRange, Probability, Rho, Scale,
};

/// I10: a privacy parameter out of its range cannot be built, neither in code nor from JSON.
#[test]
fn i10_parameters_out_of_range_cannot_be_built() {
    refuses(Epsilon::new, &[-1e-9, f64::NAN]);
    refuses(Delta::new, &[-1e-9, 1.0 + 1e-9, f64::NAN]);
    refuses(Probability::new, &[-1e-9, 1.0 + 1e-9, f64::NAN]);
    refuses(Rho::new, &[-1e-9, f64::NAN]);
    refuses(Mu::new, &[-1e-9, f64::NAN]);
    refuses(Order::new, &[1.0, 0.0, f64::INFINITY, f64::NAN]);
    refuses(Scale::new, &[0.0, -1.0, f64::INFINITY, f64::NAN]);
    refuses(ClipNorm::new, &[0.0, -1.0, f64::INFINITY, f64::NAN]);
    refuses(NoiseMultiplier::new, &[0.0, -1.0, f64::INFINITY, f64::NAN]);
}

fn refuses<T: DeserializeOwned>(new: fn(f64) -> Result<T, OutOfRange>, values: &[f64]) {
    for &value in values {
        assert!(new(value).is_err(), "{} from {value}", std::any::type_name::<T>());
        let json = serde_json::from_value::<T>(serde_json::json!(value));
        assert!(json.is_err(), "{} from JSON {value}", std::any::type_name::<T>());
    }
    assert!(new(0.5).is_ok() || new(1.5).is_ok(), "some value must be in range");
}
