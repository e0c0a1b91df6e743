//! What a file seems to be, from its name and its first bytes.

use crate::recipe::Format;
use crate::{cifar, tar};

/// The kind of a file with this (unpacked) content.
pub fn format_of(name: &str, bytes: &[u8]) -> Option<Format> {
    if bytes.starts_with(b"\x93NUMPY") {
        return Some(Format::Npy);
    }
    if bytes.starts_with(b"PK\x03\x04") {
        return Some(Format::Npz);
    }
    if bytes.starts_with(b"PAR1") {
        return Some(Format::Parquet);
    }
    if matches!(bytes, [0, 0, 0x08..=0x0e, 1..=4, ..]) {
        return Some(Format::Idx);
    }
    if tar::is_tar(bytes) {
        return Some(Format::Fasttext);
    }
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".xz")).unwrap_or(name);
    let end = name.rsplit(['/', '\\']).next().and_then(|name| name.rsplit_once('.'));
    match end.map(|(_, end)| end.to_ascii_lowercase()).as_deref() {
        Some("bin") if bytes.len().is_multiple_of(cifar::PIXELS + 1) => Some(Format::Cifar10),
        Some("csv") => Some(Format::Csv),
        Some("tsv") => Some(tabs(bytes)),
        Some("svm" | "libsvm") => Some(Format::Libsvm),
        Some("npy") => Some(Format::Npy),
        Some("npz") => Some(Format::Npz),
        Some("parquet") => Some(Format::Parquet),
        _ => text(bytes),
    }
}

fn tabs(bytes: &[u8]) -> Format {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_end();
    if first == b"title\ttags" { Format::TaggedTsv } else { Format::Tsv }
}

fn text(bytes: &[u8]) -> Option<Format> {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let line = lines.find(|line| !line.trim_ascii().is_empty())?;
    let line = std::str::from_utf8(line).ok()?;
    if line.contains('\0') {
        return None;
    }
    if line.starts_with("__label__") {
        return Some(Format::Fasttext);
    }
    let mut words = line.split_ascii_whitespace();
    let label = words.next().is_some_and(|word| word.parse::<f64>().is_ok());
    let pair = |word: &str| {
        word.split_once(':').is_some_and(|(index, value)| {
            index.parse::<u32>().is_ok() && value.parse::<f64>().is_ok()
        })
    };
    if label && words.next().is_some_and(pair) {
        return Some(Format::Libsvm);
    }
    Some(if line.contains('\t') { tabs(bytes) } else { Format::Csv })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_content_first() {
        for (name, bytes, format) in [
            ("a", &b"\x93NUMPY\x01"[..], Some(Format::Npy)),
            ("a", b"PK\x03\x04", Some(Format::Npz)),
            ("a", b"PAR1", Some(Format::Parquet)),
            ("a", &[0, 0, 8, 3], Some(Format::Idx)),
            ("b.bin.xz", &[1; cifar::PIXELS + 1], Some(Format::Cifar10)),
            ("a9a.gz", b"-1 3:1 11:1\n", Some(Format::Libsvm)),
            ("a", b"__label__x y\n", Some(Format::Fasttext)),
            ("a.tsv", b"title\ttags\r\n", Some(Format::TaggedTsv)),
            ("a.tsv", b"a\tb\n", Some(Format::Tsv)),
            ("folder.d/adult.data", b"39, State-gov\n", Some(Format::Csv)),
            ("a", &[1, 0, 0xff, 7], None),
        ] {
            assert_eq!(format_of(name, bytes), format, "{name}");
        }
    }
}
