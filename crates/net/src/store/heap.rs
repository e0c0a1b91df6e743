//! A file beside the database, for what is large: written once, where nothing is that counts.
//!
//! A transaction of the database names the places that count. Bytes are written to places that the
//! last durable transaction does not name, and are durable before the next one names them. So a
//! crash at any instant leaves either the old names, whose places nobody touched, or the new ones;
//! what else is in the file is rubbish, and is written over. Places of forgotten bytes are used
//! again, so the file is never larger than what counted at the same time, and holes.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Where some bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) start: u64,
    pub(super) length: u64,
}

/// Places fill whole pages of the disk: to write one, no other has to be written again.
const PAGE: u64 = 4 << 10;

pub(super) struct Heap {
    path: PathBuf,
    /// Made when it is needed first: small messages do without.
    file: Option<File>,
    /// Holes, by where they begin: how long they are.
    free: BTreeMap<u64, u64>,
    /// Behind the last place that counts.
    end: u64,
    /// Places that do not count any more once the present transaction is durable.
    leaving: Vec<Place>,
    /// Whether rubbish behind the end is cut off.
    is_cut: bool,
    is_dirty: bool,
}

impl Heap {
    /// That of the store at `path`, in which these places count.
    pub(super) fn open(path: &Path, mut places: Vec<Place>) -> Result<Self> {
        let path = beside(path);
        let file = match OpenOptions::new().read(true).write(true).open(&path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        places.sort_by_key(|place| place.start);
        let (mut free, mut end) = (BTreeMap::new(), 0);
        for place in places {
            if place.start > end {
                free.insert(end, place.start - end);
            }
            end = end.max(place.end());
        }
        Ok(Self { path, file, free, end, leaving: Vec::new(), is_cut: false, is_dirty: false })
    }

    /// Where the bytes are now. They are durable after [`Heap::sync`].
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<Place> {
        let place = self.room(bytes.len() as u64);
        let mut file = self.writable()?;
        file.seek(SeekFrom::Start(place.start))?;
        file.write_all(bytes)?;
        self.is_dirty = true;
        Ok(place)
    }

    /// The bytes; whether they are the right ones is for the caller to know.
    pub(super) fn get(&self, place: Place) -> Result<Vec<u8>> {
        let missing = || Error::new(ErrorKind::NotFound, format!("{} ends", self.path.display()));
        let mut file = self.file.as_ref().ok_or_else(missing)?;
        let end = place.start.checked_add(place.length).ok_or_else(missing)?;
        // Nothing is allocated before it is known to be there.
        if end > file.metadata()?.len() {
            return Err(missing());
        }
        let mut bytes = Vec::with_capacity(place.length as usize);
        file.seek(SeekFrom::Start(place.start))?;
        file.take(place.length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The present transaction does not name this place any more.
    pub(super) fn forget(&mut self, place: Place) {
        self.leaving.push(place);
    }

    /// To be called before the transaction is made durable.
    pub(super) fn sync(&mut self) -> Result<()> {
        if let Some(file) = self.file.as_ref().filter(|_| self.is_dirty) {
            file.sync_data()?;
        }
        self.is_dirty = false;
        Ok(())
    }

    /// To be called when the transaction is durable.
    pub(super) fn reuse(&mut self) {
        for place in std::mem::take(&mut self.leaving) {
            let (mut start, mut end) = (place.start, place.end());
            if let Some((before, length)) = self.free.range(..start).next_back()
                && before + length == start
            {
                start = *before;
            }
            if let Some(length) = self.free.remove(&end) {
                end += length;
            }
            if end == self.end {
                self.free.remove(&start);
                self.end = start;
            } else {
                self.free.insert(start, end - start);
            }
        }
    }

    /// The first hole that is large enough, or the end.
    fn room(&mut self, length: u64) -> Place {
        let needed = pages(length);
        let hole = self.free.iter().find(|(_, free)| **free >= needed);
        let Some((start, free)) = hole.map(|(start, free)| (*start, *free)) else {
            let start = self.end;
            self.end += needed;
            return Place { start, length };
        };
        self.free.remove(&start);
        if free > needed {
            self.free.insert(start + needed, free - needed);
        }
        Place { start, length }
    }

    fn writable(&mut self) -> Result<&File> {
        if self.file.is_none() {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            self.file = Some(options.open(&self.path)?);
            // The name has to be durable, too.
            #[cfg(unix)]
            if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty())
            {
                File::open(folder)?.sync_all()?;
            }
        }
        let file = self.file.as_ref().expect("it was just made");
        if !self.is_cut {
            file.set_len(self.end)?;
            self.is_cut = true;
        }
        Ok(file)
    }
}

impl Place {
    fn end(&self) -> u64 {
        self.start.saturating_add(pages(self.length))
    }
}

fn pages(length: u64) -> u64 {
    length.div_ceil(PAGE).saturating_mul(PAGE)
}

/// The file's name: that of the database, and a word.
pub(super) fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".large");
    name.into()
}
