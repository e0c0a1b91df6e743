//! CIFAR-10 in its binary version: a class and 32 x 32 x 3 bytes, channel by channel.

use crate::error::Fault;

/// Channels, height and width.
pub const IMAGE: [usize; 3] = [3, 32, 32];

/// Bytes of an image.
pub const PIXELS: usize = 3 * 32 * 32;

/// How many kinds of things there are.
pub const CLASSES: u8 = 10;

/// The names of the classes, as published.
pub const NAMES: [&str; 10] =
    ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

/// The class and the pixels of every image.
pub fn parse(bytes: &[u8]) -> Result<Vec<(u8, &[u8])>, Fault> {
    let record = PIXELS + 1;
    if bytes.is_empty() || !bytes.len().is_multiple_of(record) {
        return Err(Fault::new(format!(
            "{} bytes are not whole CIFAR-10 records of {record}; the file is cut off or not the \
             binary version",
            bytes.len()
        )));
    }
    let images = bytes.chunks_exact(record).zip(1..);
    let split = images.map(|(image, number)| match image[0] {
        class if class < CLASSES => Ok((class, &image[1..])),
        class => Err(Fault::at(
            number,
            format!("expected a class from 0 to 9, found {class}; is this CIFAR-10?"),
        )),
    });
    split.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_split() {
        let mut bytes = vec![7; 2 * (PIXELS + 1)];
        bytes[PIXELS + 1] = 9;
        let images = parse(&bytes).expect("two images");
        assert_eq!(images.iter().map(|i| i.0).collect::<Vec<_>>(), [7, 9]);
        bytes[PIXELS + 1] = 10;
        assert_eq!(parse(&bytes).expect_err("class").line, Some(2));
        assert!(parse(&bytes[1..]).is_err());
        assert!(parse(&[]).is_err());
    }
}
