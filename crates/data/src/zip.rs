//! Just enough of ZIP for NPZ: stored and deflated members of a single archive below 4 GiB.

use flate2::Crc;
use flate2::read::DeflateDecoder;

use crate::error::{Fault, shown};
use crate::unpack::drain;

/// A file within an archive, still packed.
#[derive(Clone, Debug, PartialEq)]
pub struct Member<'a> {
    /// Its name.
    pub name: String,
    deflated: bool,
    size: u32,
    crc: u32,
    packed: &'a [u8],
}

const END: &[u8] = b"PK\x05\x06";
const ENTRY: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";
const END_LENGTH: usize = 22;

/// Everything in an archive, by its central directory.
pub fn members(bytes: &[u8]) -> Result<Vec<Member<'_>>, Fault> {
    if !bytes.starts_with(LOCAL) && !bytes.starts_with(END) {
        return Err(Fault::new("is not a ZIP archive: it does not begin as one"));
    }
    // A comment of up to 64 KiB may follow the end of the directory.
    let from = bytes.len().saturating_sub(END_LENGTH + usize::from(u16::MAX));
    let end = bytes[from..].windows(END_LENGTH).rposition(|window| window.starts_with(END));
    let end = end.ok_or_else(|| Fault::new("the ZIP archive has no directory; it is cut off"))?;
    let end = &bytes[from + end..];
    let count = u16_at(end, 10)?;
    let mut at = u32_at(end, 16)? as usize;
    let mut members = Vec::new();
    for _ in 0..count {
        let (member, next) = entry(bytes, at)?;
        members.push(member);
        at = next;
    }
    Ok(members)
}

impl Member<'_> {
    /// The content, which must have the length and the checksum that the directory says.
    pub fn read(&self, limit: u64) -> Result<Vec<u8>, Fault> {
        let damaged = |why: &str| {
            Fault::new(format!("member {} of the ZIP archive {why}", shown(&self.name)))
        };
        if u64::from(self.size) > limit {
            return Err(damaged(&format!("holds more than {limit} bytes")));
        }
        let content = match self.deflated {
            true => drain("deflate", DeflateDecoder::new(self.packed), self.size.into())?,
            false => self.packed.to_vec(),
        };
        let mut crc = Crc::new();
        crc.update(&content);
        if content.len() != self.size as usize || crc.sum() != self.crc {
            return Err(damaged("is damaged: its checksum or length is wrong"));
        }
        Ok(content)
    }
}

/// One entry of the directory, and where the next begins.
fn entry(bytes: &[u8], at: usize) -> Result<(Member<'_>, usize), Fault> {
    let entry = bytes.get(at..).filter(|entry| entry.starts_with(ENTRY)).ok_or_else(cut)?;
    let method = u16_at(entry, 10)?;
    let (packed_size, size) = (u32_at(entry, 20)?, u32_at(entry, 24)?);
    let name_length = usize::from(u16_at(entry, 28)?);
    let others = usize::from(u16_at(entry, 30)?) + usize::from(u16_at(entry, 32)?);
    let name = entry.get(46..46 + name_length).ok_or_else(cut)?;
    let name = String::from_utf8_lossy(name).into_owned();
    let no = |why: &str| Fault::new(format!("member {} of the ZIP archive {why}", shown(&name)));
    if u16_at(entry, 8)? & 1 != 0 {
        return Err(no("is encrypted; save it without a password"));
    }
    if method != 0 && method != 8 {
        return Err(no("is packed in an unknown way; numpy stores or deflates"));
    }
    let local = bytes.get(u32_at(entry, 42)? as usize..).ok_or_else(cut)?;
    if !local.starts_with(LOCAL) {
        return Err(cut());
    }
    let start = 30 + usize::from(u16_at(local, 26)?) + usize::from(u16_at(local, 28)?);
    let packed = local.get(start..).and_then(|rest| rest.get(..packed_size as usize));
    let packed =
        packed.ok_or_else(|| no("ends beyond the archive; it is cut off or over 4 GiB"))?;
    let member = Member { deflated: method == 8, size, crc: u32_at(entry, 16)?, packed, name };
    Ok((member, at + 46 + name_length + others))
}

fn cut() -> Fault {
    Fault::new("the directory of the ZIP archive is damaged; fetch the file again")
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, Fault> {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk()).ok_or_else(cut)?;
    Ok(u16::from_le_bytes(*field))
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, Fault> {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk()).ok_or_else(cut)?;
    Ok(u32::from_le_bytes(*field))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write;

    use super::*;

    /// An archive of members, deflated or stored.
    pub(crate) fn archive(members: &[(&str, &[u8], bool)]) -> Vec<u8> {
        let (mut bytes, mut directory) = (Vec::new(), Vec::new());
        for (name, content, deflated) in members {
            let mut crc = Crc::new();
            crc.update(content);
            let level = flate2::Compression::fast();
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), level);
            encoder.write_all(content).expect("memory");
            let packed = encoder.finish().expect("memory");
            let packed = if *deflated { packed } else { content.to_vec() };
            let method: u16 = if *deflated { 8 } else { 0 };
            let place = bytes.len() as u32;
            let mut facts = vec![20, 0, 0, 0];
            facts.extend(method.to_le_bytes());
            facts.extend([0; 4]);
            facts.extend(crc.sum().to_le_bytes());
            facts.extend((packed.len() as u32).to_le_bytes());
            facts.extend((content.len() as u32).to_le_bytes());
            facts.extend((name.len() as u16).to_le_bytes());
            facts.extend([0; 2]);
            bytes.extend([LOCAL, &facts, name.as_bytes(), &packed].concat());
            directory.extend([ENTRY, &[20, 0], &facts, &[0; 10]].concat());
            directory.extend(place.to_le_bytes());
            directory.extend(name.as_bytes());
        }
        let (start, count) = (bytes.len() as u32, members.len() as u16);
        bytes.extend(&directory);
        bytes.extend(END);
        bytes.extend([0; 4]);
        bytes.extend(count.to_le_bytes());
        bytes.extend(count.to_le_bytes());
        bytes.extend((directory.len() as u32).to_le_bytes());
        bytes.extend(start.to_le_bytes());
        bytes.extend([0; 2]);
        bytes
    }

    #[test]
    fn members_are_read_and_checked() {
        let zeros = vec![0; 10_000];
        let bytes = archive(&[("x.npy", &zeros, true), ("y.npy", b"abc", false)]);
        let found = members(&bytes).expect("two members");
        assert_eq!(found.iter().map(|m| m.name.as_str()).collect::<Vec<_>>(), ["x.npy", "y.npy"]);
        assert_eq!(found[0].read(10_000).expect("deflated"), zeros);
        assert_eq!(found[1].read(3).expect("stored"), b"abc");
        assert!(found[0].read(9_999).is_err());
        let mut damaged = bytes.clone();
        let at = damaged.windows(3).position(|w| w == b"abc").expect("it is stored");
        damaged[at] = b'z';
        let say = members(&damaged).expect("the directory is whole")[1].read(3).expect_err("crc");
        assert!(say.message.contains("checksum"), "{say:?}");
        assert!(members(&bytes[..bytes.len() - 30]).is_err());
        assert!(members(b"hello").is_err());
    }
}
