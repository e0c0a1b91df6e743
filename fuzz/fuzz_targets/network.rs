//! A network file is read or refused; what is written is read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use undertone_net::NetworkFile;

fuzz_target!(|input: &str| {
    if let Ok(file) = NetworkFile::parse(input) {
        assert_eq!(NetworkFile::parse(&file.text()).as_ref(), Ok(&file));
        let _ = file.check(file.peers.len() as u32, &file.plan_hash);
    }
});
