//! LIBSVM: a label and the features that are not zero, by number, on every line.

use crate::error::{Fault, shown};

/// Calls `take` with the line, the label and the features (numbered from zero) of every record.
pub fn each(
    bytes: &[u8],
    mut take: impl FnMut(u64, &str, &[(u32, f64)]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut features = Vec::new();
    for (line, number) in bytes.split(|byte| *byte == b'\n').zip(1..) {
        let line = line.split(|byte| *byte == b'#').next().unwrap_or_default();
        let text = std::str::from_utf8(line)
            .map_err(|_| Fault::at(number, "is not UTF-8 text; is this a LIBSVM file?"))?;
        let mut words = text.split_ascii_whitespace();
        let Some(label) = words.next() else { continue };
        if label.contains(':') {
            let label = shown(label);
            return Err(Fault::at(number, format!("expected a label first, found {label}")));
        }
        features.clear();
        for word in words {
            features.push(feature(word, features.last()).map_err(|why| Fault::at(number, why))?);
        }
        take(number, label, &features)?;
    }
    Ok(())
}

fn feature(word: &str, before: Option<&(u32, f64)>) -> Result<(u32, f64), String> {
    let no = || format!("expected index:value, found {}", shown(word));
    let (index, value) = word.split_once(':').ok_or_else(no)?;
    let (index, value): (u32, f64) = index.parse().ok().zip(value.parse().ok()).ok_or_else(no)?;
    if index == 0 {
        return Err(format!("features are numbered from 1, found {}", shown(word)));
    }
    if !value.is_finite() {
        return Err(format!("expected a finite value, found {}", shown(word)));
    }
    match before {
        Some((last, _)) if *last >= index - 1 => Err(format!(
            "indices must increase along a line, found {index} after {}; sort them",
            last + 1
        )),
        _ => Ok((index - 1, value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Record = (String, Vec<(u32, f64)>);

    fn read(text: &str) -> Result<Vec<Record>, Fault> {
        let mut records = Vec::new();
        each(text.as_bytes(), |_, label, features| {
            records.push((label.to_string(), features.to_vec()));
            Ok(())
        })?;
        Ok(records)
    }

    #[test]
    fn lines_are_read_and_empty_ones_skipped() {
        let records = read("+1 1:0.5 3:-2 # why\n\n-1 \n").expect("two records");
        assert_eq!(records[0], ("+1".into(), vec![(0, 0.5), (2, -2.0)]));
        assert_eq!(records[1], ("-1".into(), vec![]));
    }

    #[test]
    fn what_is_wrong_is_on_its_line() {
        for (line, word) in [
            ("1:2", "label first"),
            ("1 2", "index:value"),
            ("1 x:2", "index:value"),
            ("1 0:2", "from 1"),
            ("1 2:1 2:1", "must increase"),
            ("1 1:inf", "finite"),
        ] {
            let fault = read(&format!("1 1:1\n{line}\n")).expect_err(line);
            assert_eq!(fault.line, Some(2), "{line}");
            assert!(fault.message.contains(word), "{fault:?}");
        }
    }
}
