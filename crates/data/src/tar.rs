//! Just enough of tar: plain files, one after the other.

use crate::error::{Fault, shown};

const BLOCK: usize = 512;

/// The name and the content of every plain file.
pub fn members(bytes: &[u8]) -> Result<Vec<(String, &[u8])>, Fault> {
    let mut members = Vec::new();
    let mut rest = bytes;
    while let Some((header, after)) = rest.split_at_checked(BLOCK) {
        if header.iter().all(|byte| *byte == 0) {
            return Ok(members);
        }
        let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum::<u64>()
            - header[148..156].iter().map(|byte| u64::from(*byte)).sum::<u64>()
            + 8 * u64::from(b' ');
        let name = text(&header[..100]);
        if octal(&header[148..156]) != Some(sum) {
            let found = members.len();
            return Err(Fault::new(format!(
                "is not a tar archive, or is damaged after {found} members; fetch the file again"
            )));
        }
        let size = octal(&header[124..136]).and_then(|size| usize::try_from(size).ok());
        let content = size.and_then(|size| after.get(..size)).ok_or_else(|| {
            Fault::new(format!("the tar archive ends within member {}", shown(&name)))
        })?;
        if matches!(header[156], b'0' | 0) {
            members.push((name, content));
        }
        rest = after.get(content.len().next_multiple_of(BLOCK)..).unwrap_or(&[]);
    }
    Ok(members)
}

/// Whether a file looks like an archive.
pub fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar")
}

fn text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

fn octal(field: &[u8]) -> Option<u64> {
    let word = text(field);
    u64::from_str_radix(word.trim(), 8).ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, content) in members {
            let mut header = vec![0; BLOCK];
            header[..name.len()].copy_from_slice(name.as_bytes());
            let size = format!("{:011o}", content.len());
            header[124..135].copy_from_slice(size.as_bytes());
            header[148..156].fill(b' ');
            header[156] = b'0';
            header[257..262].copy_from_slice(b"ustar");
            let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
            header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
            bytes.extend(header);
            bytes.extend(*content);
            bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        }
        bytes.resize(bytes.len() + 2 * BLOCK, 0);
        bytes
    }

    #[test]
    fn members_are_found() {
        let bytes = archive(&[("a.txt", b"hello"), ("b.txt", &[1; 600])]);
        assert!(is_tar(&bytes));
        let found = members(&bytes).expect("two members");
        assert_eq!(found[0], ("a.txt".into(), &b"hello"[..]));
        assert_eq!(found[1].1.len(), 600);
        assert!(members(&bytes[..BLOCK + 3]).expect_err("cut").message.contains("a.txt"));
        let mut damaged = bytes.clone();
        damaged[2 * BLOCK] = b'x';
        assert!(members(&damaged).expect_err("sum").message.contains("after 1 members"));
    }
}
