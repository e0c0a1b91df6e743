//! Memory of messages that are gone, for those that come.

use std::sync::{Arc, Mutex};

use bytes::Bytes;

/// Buffers that nobody uses at present. Fresh memory would be filled with zeros for every message,
/// by us and by the operating system.
#[derive(Clone, Default)]
pub(crate) struct Shelf(Arc<Mutex<Vec<Vec<u8>>>>);

/// More buffers than this are not kept.
const BUFFERS: usize = 4;

impl Shelf {
    /// A buffer, with anything in it.
    pub(crate) fn take(&self) -> Vec<u8> {
        self.buffers().pop().unwrap_or_default()
    }

    /// The bytes; their buffer comes back when the last of their readers has gone.
    pub(crate) fn lend(&self, buffer: Vec<u8>) -> Bytes {
        Bytes::from_owner(Lent { buffer, shelf: self.clone() })
    }

    fn buffers(&self) -> std::sync::MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().expect("nobody panics with it")
    }
}

struct Lent {
    buffer: Vec<u8>,
    shelf: Shelf,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut buffers = self.shelf.buffers();
        if buffers.len() < BUFFERS {
            buffers.push(std::mem::take(&mut self.buffer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_when_its_last_reader_has_gone() {
        let shelf = Shelf::default();
        let bytes = shelf.lend(vec![7; 100]);
        let reader = bytes.clone();
        drop(bytes);
        assert_eq!((shelf.take().capacity(), &reader[..]), (0, &[7; 100][..]));
        drop(reader);
        assert!(shelf.take().capacity() >= 100);
        drop((0..2 * BUFFERS).map(|_| shelf.lend(vec![7; 10])).collect::<Vec<_>>());
        assert_eq!(shelf.buffers().len(), BUFFERS);
    }
}
