//! Reads bytes at an offset, from files or from memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use crate::error::SegmentError;

/// Maximum bytes of one read of an [`InterruptibleFile`].
const MAX_READ_BYTES: usize = 1 << 20;

/// Bytes at an offset: a file, or memory in tests.
pub trait Source {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    fn length(&self) -> io::Result<u64>;

    /// Returns the first offset from `offset` that is not in a hole, so that a search need not read
    /// the zeros; `None` if only a hole follows.
    fn skip_hole(&self, offset: u64) -> io::Result<Option<u64>> {
        Ok(Some(offset))
    }
}

impl Source for File {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn skip_hole(&self, offset: u64) -> io::Result<Option<u64>> {
        match seek(self, SeekFrom::Data(offset)) {
            Ok(data) => Ok(Some(data)),
            Err(Errno::NXIO) => Ok(None),
            // The file system does not report holes.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(Some(offset)),
            Err(error) => Err(error.into()),
        }
    }
}

/// Interrupts the reads of a file from another thread.
#[derive(Debug, Clone, Default)]
pub struct Interruption(Arc<AtomicBool>);

impl Interruption {
    /// Makes the current read fail within [`MAX_READ_BYTES`], and every later read.
    pub fn interrupt(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A file whose reads an [`Interruption`] can stop.
pub struct InterruptibleFile {
    file: File,
    interruption: Interruption,
}

impl InterruptibleFile {
    pub fn new(file: File, interruption: Interruption) -> Self {
        Self { file, interruption }
    }
}

impl Source for InterruptibleFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if self.interruption.0.load(Ordering::Relaxed) {
            return Err(io::Error::other("reading was interrupted"));
        }
        let length = buffer.len().min(MAX_READ_BYTES);
        Source::read_at(
            &self.file,
            offset,
            buffer.get_mut(..length).unwrap_or_default(),
        )
    }

    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn skip_hole(&self, offset: u64) -> io::Result<Option<u64>> {
        self.file.skip_hole(offset)
    }
}

impl Source for Vec<u8> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = self.get(start..).unwrap_or_default();
        let length = bytes.len().min(buffer.len());
        if let (Some(slot), Some(source)) = (buffer.get_mut(..length), bytes.get(..length)) {
            slot.copy_from_slice(source);
        }
        Ok(length)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}

pub(crate) fn io_error(segment: &str, error: io::Error) -> SegmentError {
    SegmentError::Io {
        segment: segment.to_owned(),
        error,
    }
}

/// Reads until `buffer` is full or the file ends; returns the number of bytes.
pub(crate) fn read_fully(
    source: &impl Source,
    offset: u64,
    buffer: &mut [u8],
) -> io::Result<usize> {
    let mut read = 0;
    while let Some(rest) = buffer.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match source.read_at(offset + read as u64, rest) {
            Ok(0) => break,
            Ok(count) => read += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}
