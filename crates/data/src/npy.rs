//! NPY: one array with a header that is a dictionary of Python.

use crate::array::{Array, Element};
use crate::error::{Fault, shown};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Reads an array. Numbers stay where they are.
pub fn parse(bytes: &[u8]) -> Result<Array<'_>, Fault> {
    let (header, data) = split(bytes).map_err(Fault::new)?;
    let (element, big_endian) = element(&field(header, "descr")?)?;
    let columns_first = match field(header, "fortran_order")?.as_str() {
        "True" => true,
        "False" => false,
        other => return Err(wrong("fortran_order", "True or False", other)),
    };
    let shape = shape(&field(header, "shape")?)?;
    Array::new(shape, element, big_endian, columns_first, data).map_err(Fault::new)
}

/// The text of the header, and what follows it.
fn split(bytes: &[u8]) -> Result<(&str, &[u8]), &'static str> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("is not an NPY file: it does not begin as one")?;
    let cut = "the file ends within its NPY header";
    let (version, rest) = rest.split_first_chunk::<2>().ok_or(cut)?;
    let (length, rest) = match version[0] {
        1 => {
            let (length, rest) = rest.split_first_chunk::<2>().ok_or(cut)?;
            (usize::from(u16::from_le_bytes(*length)), rest)
        }
        2 | 3 => {
            let (length, rest) = rest.split_first_chunk::<4>().ok_or(cut)?;
            (u32::from_le_bytes(*length) as usize, rest)
        }
        _ => return Err("is of an unknown NPY version; versions 1 to 3 are read"),
    };
    let (header, data) = rest.split_at_checked(length).ok_or(cut)?;
    Ok((std::str::from_utf8(header).map_err(|_| "the NPY header is no text")?, data))
}

/// The value behind a key, up to the comma or brace that ends it.
fn field(header: &str, key: &str) -> Result<String, Fault> {
    let missing = || Fault::new(format!("the NPY header has no `{key}`"));
    let (_, rest) = header.split_once(&format!("'{key}'")).ok_or_else(missing)?;
    let rest = rest.trim_start().strip_prefix(':').ok_or_else(missing)?.trim_start();
    let end = match rest.chars().next() {
        Some('(') => rest.find(')').map(|at| at + 1),
        Some(quote @ ('\'' | '"')) => rest[1..].find(quote).map(|at| at + 2),
        _ => rest.find([',', '}']),
    };
    end.map(|end| rest[..end].trim().to_string()).ok_or_else(missing)
}

fn element(descr: &str) -> Result<(Element, bool), Fault> {
    let word = descr.trim_matches(['\'', '"']);
    let (order, kind) = match word.split_at_checked(1) {
        Some((order @ ("<" | ">" | "|" | "="), kind)) => (order, kind),
        _ => ("<", word),
    };
    let element = match kind {
        "b1" | "?" => Element::Bool,
        "u1" => Element::U8,
        "u2" => Element::U16,
        "u4" => Element::U32,
        "u8" => Element::U64,
        "i1" => Element::I8,
        "i2" => Element::I16,
        "i4" => Element::I32,
        "i8" => Element::I64,
        "f4" => Element::F32,
        "f8" => Element::F64,
        _ => {
            let wanted = "integers, booleans, f4 or f8 (convert the array before it is saved)";
            return Err(wrong("descr", wanted, descr));
        }
    };
    Ok((element, order == ">"))
}

fn shape(text: &str) -> Result<Vec<usize>, Fault> {
    let no = || wrong("shape", "a tuple of lengths", text);
    let inner = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')).ok_or_else(no)?;
    let words = inner.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(|word| word.trim_end_matches('L').parse().map_err(|_| no())).collect()
}

fn wrong(key: &str, wanted: &str, found: &str) -> Fault {
    Fault::new(format!("`{key}` of the NPY header: expected {wanted}, found {}", shown(found)))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// What numpy would write.
    pub(crate) fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut text = header.to_string();
        while !(10 + text.len() + 1).is_multiple_of(64) {
            text.push(' ');
        }
        text.push('\n');
        [MAGIC, &[1, 0], &(text.len() as u16).to_le_bytes()[..], text.as_bytes(), data].concat()
    }

    #[test]
    fn arrays_are_read() {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
        let data: Vec<u8> =
            [1.0_f32, 2.5, -3.0, 4.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let bytes = file(header, &data);
        let array = parse(&bytes).expect("an array");
        assert_eq!(array.shape(), [2, 2]);
        assert_eq!(array.row(1).collect::<Vec<_>>(), [-3.0, 4.0]);
        let labels = file("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", &[7, 8, 9]);
        assert_eq!(parse(&labels).expect("labels").row(2).collect::<Vec<_>>(), [9.0]);
    }

    #[test]
    fn what_is_no_array_says_why() {
        let say = |bytes: &[u8]| parse(bytes).expect_err("broken").message;
        assert!(say(b"hello").contains("not an NPY file"));
        assert!(say(b"\x93NUMPY\x01\x00").contains("within its NPY header"));
        assert!(say(b"\x93NUMPY\x09\x00").contains("unknown NPY version"));
        let object = file("{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", &[0; 24]);
        assert!(say(&object).contains("`descr`"), "{}", say(&object));
        let cut = file("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", &[0; 23]);
        assert!(say(&cut).contains("promises an array of 3 (24 bytes)"));
        let none = file("{'descr': '<f8', 'shape': (3,), }", &[0; 24]);
        assert!(say(&none).contains("no `fortran_order`"));
    }
}
