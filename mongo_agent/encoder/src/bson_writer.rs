//! Writes BSON: joined fragments and documents that field rules changed.

use crate::bson::Element;
use crate::error::{Problem, Result};

/// Begins a document; [`close`] ends it.
pub(crate) fn open(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    start
}

pub(crate) fn close(out: &mut Vec<u8>, start: usize) -> Result<()> {
    out.push(0);
    let length = out.len().saturating_sub(start);
    let size = i32::try_from(length).map_err(|_| Problem::Size { length }.at_offset(0))?;
    let place = out.get_mut(start..).and_then(<[u8]>::first_chunk_mut::<4>);
    if let Some(place) = place {
        *place = size.to_le_bytes();
    }
    Ok(())
}

pub(crate) fn write_head(out: &mut Vec<u8>, tag: u8, name: &[u8]) {
    out.push(tag);
    out.extend_from_slice(name);
    out.push(0);
}

pub(crate) fn write_element(out: &mut Vec<u8>, element: &Element<'_>) {
    write_head(out, element.tag, element.name);
    out.extend_from_slice(element.raw);
}

pub(crate) fn write_string(out: &mut Vec<u8>, name: &[u8], text: &[u8]) {
    const STRING: u8 = 2;
    write_head(out, STRING, name);
    // A longer string also exceeds the maximum size of its document, which `close` reports.
    let length = i32::try_from(text.len().saturating_add(1)).unwrap_or(i32::MAX);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(text);
    out.push(0);
}
