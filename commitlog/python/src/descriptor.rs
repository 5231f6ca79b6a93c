//! The Python class `Descriptor`, and opening of segment files.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use commitlog_core::descriptor;
use commitlog_core::error::SegmentError;
use commitlog_core::framing::Keys;
use commitlog_core::segment;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMapping};

use crate::error::from_segment_error;

/// The header of a segment.
#[pyclass(frozen, get_all, module = "commitlog")]
#[derive(Clone)]
pub struct Descriptor {
    pub segment: String,
    version: i32,
    pub segment_id: i64,
    compression: Option<String>,
    encrypted: bool,
    cipher: Option<String>,
    key_alias: Option<String>,
}

impl Descriptor {
    pub fn new(segment: &str, descriptor: &descriptor::Descriptor) -> Self {
        let encryption = descriptor.encryption.as_ref();
        Self {
            segment: segment.to_owned(),
            version: descriptor.version.number(),
            segment_id: descriptor.id,
            compression: descriptor.compression_class.clone(),
            encrypted: encryption.is_some(),
            cipher: encryption.map(|encryption| encryption.cipher.clone()),
            key_alias: encryption.map(|encryption| encryption.key_alias.clone()),
        }
    }
}

pub fn segment_name(path: &Path, name: Option<String>) -> String {
    name.unwrap_or_else(|| {
        let name = path.file_name().unwrap_or(path.as_os_str());
        name.to_string_lossy().into_owned()
    })
}

/// Opens a segment; errors contain its name.
pub fn open(path: &Path, name: &str, follow_links: bool) -> PyResult<File> {
    open_regular(path, follow_links).map_err(|error| {
        from_segment_error(SegmentError::Io {
            segment: name.to_owned(),
            error,
        })
    })
}

/// Opens a regular file and rejects any other: a pipe would block the reader.
fn open_regular(path: &Path, follow_links: bool) -> io::Result<File> {
    let no_follow = if follow_links { 0 } else { libc::O_NOFOLLOW };
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | no_follow)
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::from_raw_os_error(libc::EINVAL))
    }
}

/// Converts a mapping from alias to decryption key.
pub fn keys_of(keys: Bound<'_, PyMapping>) -> PyResult<Keys> {
    let mut by_alias = HashMap::new();
    for entry in keys.items()? {
        let (alias, key): (String, Bound<'_, PyBytes>) = entry.extract()?;
        by_alias.insert(alias, key.as_bytes().to_vec());
    }
    Ok(Keys::new(by_alias))
}

/// Reads only the header of a segment.
#[pyfunction]
#[pyo3(signature = (path, *, name = None))]
pub fn read_descriptor(path: PathBuf, name: Option<String>) -> PyResult<Descriptor> {
    let name = segment_name(&path, name);
    let file = open(&path, &name, true)?;
    let descriptor = segment::read_descriptor(&name, &file).map_err(from_segment_error)?;
    Ok(Descriptor::new(&name, &descriptor))
}
