//! Compressed files, known by their first bytes.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;

use crate::error::Fault;

/// What a decoder of xz may hold beside its output: twice what `xz -9` needs.
const XZ_MEMORY_KIB: u32 = 192 * 1024;

/// The content of a file that may be packed with gzip or xz, at most `limit` bytes of it: a small
/// file can unpack to anything.
pub fn unpack(bytes: &[u8], limit: u64) -> Result<Cow<'_, [u8]>, Fault> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return drain("gzip", MultiGzDecoder::new(bytes), limit).map(Cow::Owned);
    }
    if bytes.starts_with(b"\xfd7zXZ\0") {
        let reader = XzReader::new_mem_limit(bytes, true, XZ_MEMORY_KIB);
        return drain("xz", reader, limit).map(Cow::Owned);
    }
    within(bytes.len() as u64, limit)?;
    Ok(Cow::Borrowed(bytes))
}

/// Everything a reader gives, if that is not more than `limit` bytes.
pub(crate) fn drain(what: &str, reader: impl Read, limit: u64) -> Result<Vec<u8>, Fault> {
    let mut content = Vec::new();
    let read = reader.take(limit.saturating_add(1)).read_to_end(&mut content);
    if let Err(error) = read {
        let at = content.len();
        let why = error.to_string().replace('\n', " ");
        return Err(Fault::new(format!(
            "the {what} data is damaged after {at} bytes ({why}); fetch the file again"
        )));
    }
    within(content.len() as u64, limit)?;
    Ok(content)
}

fn within(length: u64, limit: u64) -> Result<(), Fault> {
    if length <= limit {
        return Ok(());
    }
    Err(Fault::new(format!("holds more than {limit} bytes; raise the limit if that is right")))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(content).expect("memory");
        encoder.finish().expect("memory")
    }

    /// `printf hello | xz --check=crc32`
    const XZ: &[u8] = &[
        0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x01, 0x69, 0x22, 0xde, 0x36, 0x02, 0x00, 0x21,
        0x01, 0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0x01, 0x00, 0x04, 0x68, 0x65, 0x6c,
        0x6c, 0x6f, 0x00, 0x00, 0x00, 0x00, 0x86, 0xa6, 0x10, 0x36, 0x00, 0x01, 0x19, 0x05, 0xbc,
        0xe8, 0xec, 0xcb, 0x90, 0x42, 0x99, 0x0d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x01, 0x59, 0x5a,
    ];

    #[test]
    fn packed_and_plain_files_read_the_same() {
        assert_eq!(&*unpack(b"hello", 5).expect("plain"), b"hello");
        assert_eq!(&*unpack(&gzip(b"hello"), 5).expect("gzip"), b"hello");
        let twice = [gzip(b"hel"), gzip(b"lo")].concat();
        assert_eq!(&*unpack(&twice, 5).expect("two members"), b"hello");
        assert_eq!(&*unpack(XZ, 5).expect("xz"), b"hello");
    }

    #[test]
    fn bombs_and_damage_are_refused() {
        assert!(unpack(b"hello", 4).is_err());
        let bomb = gzip(&vec![0; 1 << 20]);
        assert!(bomb.len() < 1 << 15);
        let fault = unpack(&bomb, 1 << 16).expect_err("too long");
        assert!(fault.message.contains("more than 65536 bytes"), "{fault:?}");
        let cut = gzip(b"hello, hello, hello");
        let fault = unpack(&cut[..cut.len() - 6], 100).expect_err("cut");
        assert!(fault.message.contains("gzip data is damaged"), "{fault:?}");
        assert!(unpack(&XZ[..40], 100).is_err());
    }
}
