//! IDX: the arrays of MNIST.

use crate::array::{Array, Element};
use crate::error::Fault;

/// Reads an array. Numbers stay where they are.
pub fn parse(bytes: &[u8]) -> Result<Array<'_>, Fault> {
    let no = |why: &str| Fault::new(format!("is not an IDX file: {why}"));
    let (&[zero, nought, kind, axes], mut rest) = bytes
        .split_first_chunk::<4>()
        .ok_or_else(|| no("it is shorter than the four bytes it begins with"))?;
    if zero != 0 || nought != 0 {
        return Err(no("it does not begin with two zero bytes"));
    }
    let element = match kind {
        0x08 => Element::U8,
        0x09 => Element::I8,
        0x0b => Element::I16,
        0x0c => Element::I32,
        0x0d => Element::F32,
        0x0e => Element::F64,
        _ => return Err(no(&format!("its third byte {kind:#04x} names no kind of number"))),
    };
    if axes == 0 {
        return Err(no("it has no dimensions"));
    }
    let mut shape = Vec::with_capacity(axes.into());
    for axis in 0..axes {
        let (length, after) = rest
            .split_first_chunk::<4>()
            .ok_or_else(|| Fault::new(format!("the file ends before dimension {}", axis + 1)))?;
        shape.push(u32::from_be_bytes(*length) as usize);
        rest = after;
    }
    Array::new(shape, element, true, false, rest).map_err(Fault::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_read() {
        let bytes =
            [&[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2], &[1, 2, 3, 255][..]].concat();
        let array = parse(&bytes).expect("images");
        assert_eq!(array.shape(), [2, 1, 2]);
        assert_eq!(array.row(1).collect::<Vec<_>>(), [3.0, 255.0]);
    }

    #[test]
    fn what_is_no_array_says_why() {
        let say = |bytes: &[u8]| parse(bytes).expect_err("broken").message;
        assert!(say(&[0, 0]).contains("shorter"));
        assert!(say(&[1, 0, 8, 1]).contains("zero bytes"));
        assert!(say(&[0, 0, 7, 1]).contains("0x07"));
        assert!(say(&[0, 0, 8, 0]).contains("no dimensions"));
        assert!(say(&[0, 0, 8, 2, 0, 0, 0, 1]).contains("before dimension 2"));
        assert!(say(&[0, 0, 8, 1, 255, 255, 255, 255, 1]).contains("promises"));
    }
}
