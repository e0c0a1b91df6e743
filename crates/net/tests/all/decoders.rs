//! Bytes from outside are something or an error, never a panic; what is read is written back as it
//! came. Frames are mutated, since bytes that are only random hardly get past the first check.

use undertone_net::frame::{Frame, Hello, PREFIX, Refusal, VERSION};
use undertone_net::journal::Event;
use undertone_net::{Identity, NetworkFile, STATEMENT, Statement};

/// Public bits by a counter; the same in every run.
struct Bits(u64);

impl Bits {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// Flips, cuts, repeats or puts in a few bytes.
    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            match self.below(5) {
                0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
                1 if at < bytes.len() => bytes[at] = self.next() as u8,
                2 => bytes.truncate(at),
                3 => bytes.insert(at, self.next() as u8),
                _ if at < bytes.len() => {
                    let end = at + self.below(bytes.len() - at);
                    let piece = bytes[at..end].to_vec();
                    bytes.extend(piece);
                }
                _ => {}
            }
        }
    }
}

fn frames() -> Vec<Vec<u8>> {
    let statement = Statement::sign(&Identity::generate(), &[1; 32], 2, 3, (4, [5; 32]), b"six");
    let hello = |seen| {
        let (network, plan) = ([1; 32], [2; 32]);
        Frame::Hello(Hello { version: VERSION, network, plan, node: 3, round: 4, have: 5, seen })
    };
    let frames = [
        Frame::Ack { round: 7 },
        Frame::Bye { finished: false },
        hello(None),
        hello(Some(statement)),
        Frame::Message { statement, payload: vec![0; 40] },
        Frame::Refusal(Refusal::Flood),
        Frame::Status { round: 1 },
    ];
    frames.iter().map(|frame| frame.encode()[PREFIX..].to_vec()).collect()
}

fn events() -> Vec<Vec<u8>> {
    let events = [
        Event::Deadline { round: 1 },
        Event::Checkpoint { round: 2, debits: 3, digest: [4; 32] },
        Event::Heard { from: 2, round: 3, digest: [4; 32] },
        Event::Passed { round: 4 },
        Event::Rejoin { round: 5 },
        Event::Sent { round: 6, debits: 7, digest: [8; 32] },
    ];
    events.iter().map(Event::encode).collect()
}

/// How many of so many inputs were read.
fn decode(executions: u64) -> u64 {
    let (frames, events) = (frames(), events());
    let mut bits = Bits(1);
    let mut read = 0;
    for k in 0..executions {
        let seeds = if k % 2 == 0 { &frames } else { &events };
        let mut bytes = seeds[bits.below(seeds.len())].clone();
        bits.mutate(&mut bytes);
        if let Ok(frame) = Frame::decode(&bytes) {
            assert_eq!(frame.encode()[PREFIX..], bytes);
            read += 1;
        }
        if let Some(event) = Event::decode(&bytes) {
            assert_eq!(event.encode(), bytes);
            read += 1;
        }
        if let Some(head) = bytes.first_chunk::<STATEMENT>() {
            assert_eq!(Statement::decode(head).encode(), *head);
        }
    }
    read
}

#[test]
fn mutated_frames_and_events_are_read_or_refused() {
    let read = decode(50_000);
    assert!(read > 5_000, "only {read} got past the first check");
}

#[test]
#[ignore = "long; cargo xtask test --net"]
fn ten_million_of_them() {
    let executions = 10_000_000;
    println!("{executions} inputs, {} of them read, no panic", decode(executions));
}

#[test]
fn mutated_network_files_are_read_or_refused() {
    let key = Identity::generate();
    let mut file = NetworkFile::new("name".into(), "hash".into());
    file.add(0, key.public(), "/ip4/127.0.0.1/tcp/1".into()).unwrap();
    file.sign(&key).unwrap();
    let whole = file.text().into_bytes();
    let mut bits = Bits(2);
    for _ in 0..3_000 {
        let mut bytes = whole.clone();
        bits.mutate(&mut bytes);
        let Ok(text) = String::from_utf8(bytes) else { continue };
        if let Ok(read) = NetworkFile::parse(&text)
            && read.check(1, "hash").is_ok()
        {
            assert_eq!(read, file, "what was signed is in force, and nothing else");
        }
    }
}
