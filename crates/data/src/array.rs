//! Numbers in a row of bytes, as NPY and IDX files hold them.

/// An array whose numbers are still bytes: nothing is allocated until they are asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Array<'a> {
    shape: Vec<usize>,
    element: Element,
    big_endian: bool,
    /// Whether the first index runs fastest.
    columns_first: bool,
    bytes: &'a [u8],
}

/// The kinds of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names are those of Rust")]
pub enum Element {
    Bool,
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F32,
    F64,
}

impl<'a> Array<'a> {
    /// Checks that as many bytes are there as the shape says, before anybody believes it.
    pub fn new(
        shape: Vec<usize>,
        element: Element,
        big_endian: bool,
        columns_first: bool,
        bytes: &'a [u8],
    ) -> Result<Self, String> {
        if shape.contains(&0) {
            return Err(format!("the array of {} is empty", shape_of(&shape)));
        }
        let count = shape.iter().try_fold(element.size(), |all, n| all.checked_mul(*n));
        if count != Some(bytes.len()) {
            let wanted = count.map_or("more than any file".into(), |n| n.to_string());
            return Err(format!(
                "the header promises an array of {} ({wanted} bytes), but {} bytes follow; \
                 the file is cut off or not of this kind",
                shape_of(&shape),
                bytes.len()
            ));
        }
        Ok(Self { shape, element, big_endian, columns_first, bytes })
    }

    /// Lengths along each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// What it is made of.
    pub fn element(&self) -> Element {
        self.element
    }

    /// The length of the first axis; one for a single number.
    pub fn records(&self) -> usize {
        self.shape.first().copied().unwrap_or(1)
    }

    /// How many numbers one record has.
    pub fn width(&self) -> usize {
        self.shape.iter().skip(1).product()
    }

    /// The numbers of one record, the last index fastest.
    pub fn row(&self, record: usize) -> impl Iterator<Item = f64> + '_ {
        let (records, width) = (self.records(), self.width());
        (0..width).map(move |k| {
            let index = if self.columns_first {
                self.mirrored(record, k, records)
            } else {
                record * width + k
            };
            self.number(index)
        })
    }

    /// The bytes of one record, if it is made of bytes that lie together.
    pub fn byte_row(&self, record: usize) -> Option<&'a [u8]> {
        let whole = self.element == Element::U8 && !self.columns_first;
        let width = self.width();
        whole.then(|| &self.bytes[record * width..][..width])
    }

    /// Where the `k`-th number of a record is if the first index runs fastest.
    fn mirrored(&self, record: usize, k: usize, records: usize) -> usize {
        let (mut rest, mut index, mut stride) = (k, record, self.width() * records);
        for length in self.shape.iter().skip(1).rev() {
            stride /= length;
            index += rest % length * stride;
            rest /= length;
        }
        index
    }

    fn number(&self, index: usize) -> f64 {
        let size = self.element.size();
        let mut word = [0; 8];
        word[..size].copy_from_slice(&self.bytes[index * size..][..size]);
        if self.big_endian {
            word[..size].reverse();
        }
        let bits = u64::from_le_bytes(word);
        match self.element {
            Element::Bool => f64::from(u8::from(bits != 0)),
            Element::U8 | Element::U16 | Element::U32 | Element::U64 => bits as f64,
            Element::I8 => f64::from(bits as u8 as i8),
            Element::I16 => f64::from(bits as u16 as i16),
            Element::I32 => f64::from(bits as u32 as i32),
            Element::I64 => bits as i64 as f64,
            Element::F32 => f64::from(f32::from_bits(bits as u32)),
            Element::F64 => f64::from_bits(bits),
        }
    }
}

impl Element {
    /// In bytes.
    pub fn size(self) -> usize {
        match self {
            Self::Bool | Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

/// `60000 x 28 x 28`.
pub(crate) fn shape_of(shape: &[usize]) -> String {
    let words: Vec<String> = shape.iter().map(usize::to_string).collect();
    if words.is_empty() { "one number".into() } else { words.join(" x ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_and_both_endians_are_read() {
        let rows = Array::new(
            vec![2, 2, 3],
            Element::U8,
            false,
            false,
            &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
        )
        .expect("it fits");
        assert_eq!(rows.row(1).collect::<Vec<_>>(), [6.0, 7.0, 8.0, 9.0, 10.0, 11.0]);
        // The same array with the first index fastest.
        let bytes: Vec<u8> = (0..3)
            .flat_map(|k| (0..2).flat_map(move |j| (0..2).map(move |i| i * 6 + j * 3 + k)))
            .collect();
        let columns = Array::new(vec![2, 2, 3], Element::U8, false, true, &bytes).expect("it fits");
        assert_eq!(columns.row(1).collect::<Vec<_>>(), rows.row(1).collect::<Vec<_>>());
        let big = Array::new(vec![1], Element::I16, true, false, &[0xff, 0xfe]).expect("it fits");
        assert_eq!(big.row(0).collect::<Vec<_>>(), [-2.0]);
    }

    #[test]
    fn a_shape_is_not_believed() {
        assert!(Array::new(vec![1 << 60, 0], Element::U8, false, false, &[]).is_err());
        let huge = vec![usize::MAX, usize::MAX];
        assert!(Array::new(huge, Element::F64, false, false, &[]).is_err());
        let cut = Array::new(vec![3], Element::F32, false, false, &[0; 8]);
        assert!(cut.expect_err("cut").contains("12 bytes"));
    }
}
