//! The few things of protocol buffers that a model in ONNX is made of.

/// A message that is being written.
#[derive(Clone, Debug, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn integer(mut self, field: u32, value: i64) -> Self {
        self.varint(u64::from(field) << 3);
        self.varint(value as u64);
        self
    }

    pub(super) fn float(mut self, field: u32, value: f32) -> Self {
        self.varint((u64::from(field) << 3) | 5);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn bytes(mut self, field: u32, value: &[u8]) -> Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    pub(super) fn text(self, field: u32, value: &str) -> Self {
        self.bytes(field, value.as_bytes())
    }

    pub(super) fn message(self, field: u32, value: &Self) -> Self {
        self.bytes(field, &value.0)
    }

    /// A message for each.
    pub(super) fn messages<'a>(
        self,
        field: u32,
        values: impl IntoIterator<Item = &'a Self>,
    ) -> Self {
        values.into_iter().fold(self, |message, value| message.message(field, value))
    }

    /// An integer for each.
    pub(super) fn integers(self, field: u32, values: impl IntoIterator<Item = i64>) -> Self {
        values.into_iter().fold(self, |message, value| message.integer(field, value))
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_the_specification() {
        assert_eq!(Message::new().integer(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
        let text = [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67];
        assert_eq!(Message::new().text(2, "testing").into_bytes(), text);
        let inner = Message::new().integer(1, 150);
        assert_eq!(Message::new().message(3, &inner).into_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
    }
}
