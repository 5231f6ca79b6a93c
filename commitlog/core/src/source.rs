//! Bytes at an offset, and how they are read whole.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::error::SegmentError;

/// Bytes at an offset: a file, or memory in tests.
pub trait Source {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    fn length(&self) -> io::Result<u64>;
}

impl Source for File {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

impl Source for Vec<u8> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = self.get(from..).unwrap_or_default();
        let length = bytes.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..length), bytes.get(..length)) {
            to.copy_from_slice(from);
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
