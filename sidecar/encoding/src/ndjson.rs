//! Writes the messages of a batch as lines of JSON, for human readers.

use crate::messages::{ID_HEADER, KIND_HEADER, Messages, SOURCE_HEADER, TIME_HEADER};

/// Writes one JSON line for each message from `first` up to, but excluding, `stop`.
pub fn ndjson<M: Messages>(batch: &M, first: usize, stop: usize) -> Vec<u8> {
    let topics: Vec<_> = batch.topics().collect();
    let kinds: Vec<_> = M::kinds().collect();
    let mut out = Vec::new();
    let mut source = Vec::new();
    for (index, entry) in batch.range(first, stop) {
        let message = batch.message(entry);
        let topic = topics.get(message.topic).copied().unwrap_or_default();
        let kind = kinds.get(message.kind).copied().unwrap_or_default();
        out.extend_from_slice(b"{\"topic\":");
        write_string(&mut out, topic.as_bytes());
        out.extend_from_slice(b",\"key\":");
        write_shown(&mut out, message.key);
        out.extend_from_slice(b",\"value\":");
        write_shown(&mut out, message.value.unwrap_or(b"null"));
        let id = u128::from_be_bytes(message.id);
        let headers = format!(",\"headers\":{{\"{ID_HEADER}\":\"{id:032x}\",\"{SOURCE_HEADER}\":");
        out.extend_from_slice(headers.as_bytes());
        source.clear();
        batch.write_source(&mut source, entry);
        write_string(&mut out, &source);
        let time = message.timestamp_us;
        let headers = format!(",\"{TIME_HEADER}\":\"{time}\",\"{KIND_HEADER}\":\"{kind}\"");
        out.extend_from_slice(headers.as_bytes());
        for (name, value) in batch.more_headers(index) {
            out.push(b',');
            write_string(&mut out, name.as_bytes());
            out.push(b':');
            write_string(&mut out, value);
        }
        out.extend_from_slice(b"}}\n");
    }
    out
}

/// Writes JSON unchanged, Avro and Protobuf as base64, and the text of a struct as a string. The
/// first byte tells them apart: zero before binary data, `S` in the text of a struct.
fn write_shown(out: &mut Vec<u8>, part: &[u8]) {
    match part.first() {
        Some(0) => {
            out.push(b'"');
            base64_simd::STANDARD.encode_append(part, out);
            out.push(b'"');
        }
        Some(b'S') => write_string(out, part),
        _ => out.extend_from_slice(part),
    }
}

fn write_string(out: &mut Vec<u8>, bytes: &[u8]) {
    // Writing to a vector cannot fail.
    let _ = serde_json::to_writer(out, &String::from_utf8_lossy(bytes));
}
