//! Our figure over the peer's, against the target we set ourselves.

use super::record::Record;

struct Target {
    ours: &'static str,
    peer: &'static str,
    /// How many times as fast we mean to be; `None` is for information.
    at_least: Option<f64>,
}

const fn target(ours: &'static str, peer: &'static str, at_least: f64) -> Target {
    Target { ours, peer, at_least: Some(at_least) }
}

const fn information(ours: &'static str, peer: &'static str) -> Target {
    Target { ours, peer, at_least: None }
}

const TARGETS: &[Target] = &[
    target("pld_eps_t1e3", "dp_accounting_pld_eps_t1e3", 20.0),
    target("pld_eps_t1e4", "dp_accounting_pld_eps_t1e4", 20.0),
    target("pld_eps_t1e5", "dp_accounting_pld_eps_t1e5", 20.0),
    information("pld_eps_t1e3", "prv_accountant_eps_t1e3"),
    information("pld_eps_t1e4", "prv_accountant_eps_t1e4"),
    information("pld_eps_t1e5", "prv_accountant_eps_t1e5"),
    target("calibrate_t1e4", "dp_accounting_calibrate_t1e4", 20.0),
    target("rdp_heterogeneous_10k", "dp_accounting_rdp_heterogeneous_10k", 100.0),
    target("gauss_fast_f32", "torch_normal_f32", 2.0),
    information("gauss_fast_f32", "numpy_standard_normal_f32"),
    information("gauss_fast_f64", "numpy_standard_normal_f64"),
    information("gauss_fast_f64", "mkl_random_icdf_f64"),
    target("exact_gauss_sigma1", "opendp_gaussian_sigma1", 100.0),
    target("exact_gauss_sigma10", "opendp_gaussian_sigma10", 100.0),
    target("exact_gauss_sigma1000", "opendp_gaussian_sigma1000", 100.0),
    target("admm_5_d105_m8000_t50_1t", "numpy_chord_admm_5_d105_m8000_t50_1t", 3.0),
    target("admm_5_d105_m8000_t50_1t", "scipy_lbfgs_admm_5_d105_m8000_t50_1t", 3.0),
    target("sparse_push_sum_1000x64_1t", "jax_gather_sparse_push_sum_1000x64_1t", 4.0),
    target("sparse_push_sum_1000x64_1t", "scipy_csr_sparse_push_sum_1000x64_1t", 4.0),
    target("sparse_push_sum_1000x64_1t", "numpy_gather_sparse_push_sum_1000x64_1t", 4.0),
    target("logistic_105_b256_1t", "jax_logistic_105_b256_1t", 2.0),
    target("logistic_105_b256_1t", "numpy_logistic_105_b256_1t", 2.0),
    target("logistic_105_b256_1t", "numpy_mkl_logistic_105_b256_1t", 2.0),
    target("logistic_105_b256_1t", "opacus_logistic_105_b256_1t", 30.0),
    target("mlp_784_50_10_b20_1t", "numpy_mlp_784_50_10_b20_1t", 2.0),
    target("mlp_784_50_10_b20_1t", "numpy_mkl_mlp_784_50_10_b20_1t", 2.0),
    target("mlp_784_50_10_b20_1t", "torch_mlp_784_50_10_b20_1t", 2.0),
    target("mlp_784_50_10_b20_1t", "jax_mlp_784_50_10_b20_1t", 2.0),
    target("mlp_784_50_10_b20_1t", "opacus_mlp_784_50_10_b20_1t", 10.0),
    target("mlp_784_50_10_b20_1t", "opacus_ghost_mlp_784_50_10_b20_1t", 10.0),
    target("mlp_784_50_10_b256_1t", "numpy_mlp_784_50_10_b256_1t", 2.0),
    target("mlp_784_50_10_b256_1t", "numpy_mkl_mlp_784_50_10_b256_1t", 2.0),
    target("mlp_784_50_10_b256_1t", "torch_mlp_784_50_10_b256_1t", 2.0),
    target("mlp_784_50_10_b256_1t", "jax_mlp_784_50_10_b256_1t", 2.0),
    target("mlp_784_50_10_b256_1t", "opacus_ghost_mlp_784_50_10_b256_1t", 2.0),
    target("mlp_3072_40_10_b20_1t", "numpy_mlp_3072_40_10_b20_1t", 2.0),
    target("mlp_3072_40_10_b20_1t", "numpy_mkl_mlp_3072_40_10_b20_1t", 2.0),
    target("mlp_3072_40_10_b20_1t", "torch_mlp_3072_40_10_b20_1t", 2.0),
    target("mlp_3072_40_10_b20_1t", "jax_mlp_3072_40_10_b20_1t", 2.0),
    target("mnist_cnn_b64_1t", "jax_mnist_cnn_b64_1t", 2.0),
    target("mnist_cnn_b64_1t", "opacus_mnist_cnn_b64_1t", 2.0),
    target("mnist_cnn_b64_1t", "opacus_ghost_mnist_cnn_b64_1t", 2.0),
    target("resnet18_b8_1t", "jax_resnet18_b8_1t", 2.0),
    target("resnet18_b8_1t", "opacus_resnet18_b8_1t", 2.0),
    target("resnet18_b8_1t", "torch_one_by_one_resnet18_b8_1t", 2.0),
    target("priv_sgp_16_mlp_784_50_10_b1_1t", "numpy_priv_sgp_16_mlp_784_50_10_b1_1t", 2.0),
    target("priv_sgp_16_mlp_784_50_10_b1_1t", "numpy_mkl_priv_sgp_16_mlp_784_50_10_b1_1t", 2.0),
    target("priv_sgp_16_mlp_784_50_10_b1_1t", "torch_priv_sgp_16_mlp_784_50_10_b1_1t", 2.0),
    target(
        "priv_sgp_16_mlp_784_50_10_b1_1t",
        "torch_compiled_priv_sgp_16_mlp_784_50_10_b1_1t",
        2.0,
    ),
    target("priv_sgp_100_mlp_784_50_10_b1_1t", "numpy_priv_sgp_100_mlp_784_50_10_b1_1t", 2.0),
    target("priv_sgp_100_mlp_784_50_10_b1_1t", "numpy_mkl_priv_sgp_100_mlp_784_50_10_b1_1t", 2.0),
    target("priv_sgp_100_mlp_784_50_10_b1_1t", "torch_priv_sgp_100_mlp_784_50_10_b1_1t", 2.0),
    target(
        "priv_sgp_100_mlp_784_50_10_b1_1t",
        "torch_compiled_priv_sgp_100_mlp_784_50_10_b1_1t",
        2.0,
    ),
    target("priv_sgp_1000_logistic_105_b1_1t", "numpy_priv_sgp_1000_logistic_105_b1_1t", 2.0),
    target("priv_sgp_1000_logistic_105_b1_1t", "numpy_mkl_priv_sgp_1000_logistic_105_b1_1t", 2.0),
    target("priv_sgp_1000_logistic_105_b1_1t", "torch_priv_sgp_1000_logistic_105_b1_1t", 2.0),
    target(
        "priv_sgp_1000_logistic_105_b1_1t",
        "torch_compiled_priv_sgp_1000_logistic_105_b1_1t",
        2.0,
    ),
    target(
        "priv_sgp_vr_50_mlp_784_50_10_b1_j1200_1t",
        "jax_factored_priv_sgp_vr_50_mlp_784_50_10_b1_j1200_1t",
        10.0,
    ),
    target("priv_sgp_16_mlp_784_50_10_b1_1t", "gossipy_priv_sgp_16_mlp_784_50_10_b1_1t", 20.0),
    target("priv_sgp_100_mlp_784_50_10_b1_1t", "gossipy_priv_sgp_100_mlp_784_50_10_b1_1t", 20.0),
    target("priv_sgp_1000_logistic_105_b1_1t", "gossipy_priv_sgp_1000_logistic_105_b1_1t", 20.0),
    target("resnet18_b8_memory", "opacus_resnet18_b8_memory", 10.0),
];

/// An epsilon (or a noise) may be larger than the peer's by this part and still be as tight.
const TIGHTNESS: f64 = 1e-8;

/// One line a target, and one more for those that both ran on all cores; then those that are
/// missed.
pub fn table(ours: &[Record], theirs: &[Record]) -> String {
    let mut out = String::from("\nours against peers (times as fast; result: ours, theirs)\n");
    let mut missed = String::new();
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    for target in TARGETS {
        let mut tell = |ours_name: &str, peer: &str, line: Line| {
            let text = format!("  {ours_name:<26} {peer:<40} {}\n", line.text);
            if line.missed {
                missed.push_str(&text);
            }
            out.push_str(&text);
        };
        let found = (find(ours, target.ours), find(theirs, target.peer));
        tell(target.ours, target.peer, line(target, found.0, found.1));
        let (Some(name), Some(peer)) = (on(cores, target.ours), on(cores, target.peer)) else {
            continue;
        };
        if let (Some(ours), Some(theirs)) = (find(ours, &name), find(theirs, &peer)) {
            tell(&name, &peer, line(target, Some(ours), Some(theirs)));
        }
    }
    if !missed.is_empty() {
        out.push_str("\nmissed\n");
        out.push_str(&missed);
    }
    out
}

/// What is said of a target.
struct Line {
    text: String,
    /// Slower than it should be, or looser.
    missed: bool,
}

impl Line {
    fn unmeasured(text: impl Into<String>) -> Self {
        Self { text: text.into(), missed: false }
    }
}

/// The name of what ran on one core, if that is in it, for several.
fn on(cores: usize, name: &str) -> Option<String> {
    let name = name.strip_suffix("_1t").filter(|_| cores > 1)?;
    Some(format!("{name}_{cores}t"))
}

fn find<'a>(records: &'a [Record], name: &str) -> Option<&'a Record> {
    records.iter().find(|r| r.name == name)
}

fn line(target: &Target, ours: Option<&Record>, theirs: Option<&Record>) -> Line {
    let (ours, theirs) = match (ours, theirs) {
        (Some(ours), Some(theirs)) => (ours, theirs),
        (None, Some(_)) => return Line::unmeasured("no such benchmark of ours yet"),
        (Some(_), None) => return Line::unmeasured("peer not measured"),
        (None, None) => return Line::unmeasured("neither measured"),
    };
    if ours.is_cost() != theirs.is_cost() {
        return Line::unmeasured(format!("units differ: {} and {}", ours.unit, theirs.unit));
    }
    let ratio = if ours.is_cost() { theirs.value / ours.value } else { ours.value / theirs.value };
    let looser = match (ours.result, theirs.result) {
        (Some(a), Some(b)) => a > b * (1.0 + TIGHTNESS),
        _ => false,
    };
    let missed = target.at_least.is_some_and(|least| looser || ratio < least);
    let verdict = match target.at_least {
        None => "for information".into(),
        Some(_) if looser => "below: looser than the peer".into(),
        Some(least) if ratio >= least => format!("PASS (target {least})"),
        Some(least) => format!("below (target {least})"),
    };
    let results = match (ours.result, theirs.result) {
        (Some(a), Some(b)) => format!("  {a:.6}, {b:.6}"),
        _ => String::new(),
    };
    let note = theirs.note.as_ref().map_or(String::new(), |n| format!("  [{n}]"));
    let digits = if ratio < 10.0 { 2 } else { 0 };
    Line { text: format!("{ratio:>9.digits$}x  {verdict}{results}{note}"), missed }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(unit: &str, value: f64, result: Option<f64>) -> Record {
        Record { name: "a".into(), unit: unit.into(), value, result, note: None }
    }

    fn verdict(ours: &Record, theirs: &Record) -> String {
        line(&target("a", "b", 20.0), Some(ours), Some(theirs)).text
    }

    #[test]
    fn less_time_and_more_samples_are_faster() {
        let slow = record("s", 1.0, Some(2.0));
        assert!(verdict(&record("s", 0.05, Some(2.0)), &slow).contains("PASS"));
        assert!(verdict(&record("s", 0.06, Some(2.0)), &slow).contains("below (target 20)"));
        let slow = record("samples/s", 1.0, None);
        assert!(verdict(&record("samples/s", 20.0, None), &slow).contains("PASS"));
        assert!(verdict(&record("samples/s", 19.0, None), &slow).contains("below"));
    }

    #[test]
    fn a_fast_but_looser_answer_does_not_pass() {
        let peer = record("s", 1.0, Some(2.0));
        assert!(verdict(&record("s", 0.01, Some(2.01)), &peer).contains("looser"));
        assert!(verdict(&record("s", 0.01, Some(1.9)), &peer).contains("PASS"));
    }

    #[test]
    fn what_is_missing_is_named() {
        let one = record("s", 1.0, None);
        assert!(line(&TARGETS[0], None, Some(&one)).text.contains("no such benchmark of ours"));
        assert!(line(&TARGETS[0], Some(&one), None).text.contains("peer not measured"));
        assert!(verdict(&one, &record("samples/s", 1.0, None)).contains("units differ"));
        assert_eq!(table(&[], &[]).lines().count(), TARGETS.len() + 2);
    }

    #[test]
    fn what_is_missed_is_listed_again_at_the_end() {
        let named = |name: &str, value| Record { name: name.into(), ..record("s", value, None) };
        let [first, second] = [&TARGETS[0], &TARGETS[1]];
        let ours = [named(first.ours, 1.0), named(second.ours, 1.0)];
        let theirs = [named(first.peer, 2.0), named(second.peer, 200.0)];
        let table = table(&ours, &theirs);
        let (_, missed) = table.split_once("\nmissed\n").unwrap();
        assert_eq!(missed.lines().count(), 1);
        assert!(missed.contains(first.peer) && missed.contains("2.00x"));
    }

    #[test]
    fn what_ran_on_all_cores_is_compared_with_what_did() {
        assert_eq!(on(2, "jax_gossip_1t").as_deref(), Some("jax_gossip_2t"));
        assert_eq!((on(2, "pld_eps_t1e3"), on(1, "jax_gossip_1t")), (None, None));
    }
}
