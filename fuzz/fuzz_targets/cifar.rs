//! Records of CIFAR-10 are whole, or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use undertone_data::cifar;

fuzz_target!(|input: &[u8]| {
    // Inputs of a record's length are rare: the input is repeated, too.
    let repeated: Vec<u8> = input.iter().copied().cycle().take(2 * (cifar::PIXELS + 1)).collect();
    for bytes in [input, &repeated] {
        if let Ok(images) = cifar::parse(bytes) {
            assert_eq!(images.len() * (cifar::PIXELS + 1), bytes.len());
            assert!(images.iter().all(|(class, _)| *class < cifar::CLASSES));
        }
    }
});
