//! Builds a commit-log segment from mutations (`CommitLogDescriptor`, `CommitLogSegment`; format
//! notes §1 to §3).

use crate::descriptor::Version;
use crate::segment::MarkerChecksum;

/// No compression, no encryption.
const PARAMETERS: &[u8] = b"{}";

/// Builds a complete version 9 segment with one section.
pub fn commit_log_segment(id: i64, mutations: &[Vec<u8>]) -> Vec<u8> {
    let mut out = header(id);
    let marker_at = out.len();
    out.extend_from_slice(&[0; 8]);
    for mutation in mutations {
        let size = (mutation.len() as u32).to_be_bytes();
        let mut crc = crc32fast::Hasher::new();
        crc.update(&size);
        out.extend_from_slice(&size);
        out.extend_from_slice(&crc.clone().finalize().to_be_bytes());
        out.extend_from_slice(mutation);
        crc.update(mutation);
        out.extend_from_slice(&crc.finalize().to_be_bytes());
    }
    let end = (out.len() as u32).to_be_bytes();
    let crc = MarkerChecksum::for_segment(id).checksum(marker_at as u64);
    let crc = crc.to_be_bytes();
    if let Some(marker) = out.get_mut(marker_at..marker_at + 8) {
        marker.copy_from_slice(&[end, crc].concat());
    }
    // Space for the next sync marker.
    out.extend_from_slice(&[0; 8]);
    out
}

fn header(id: i64) -> Vec<u8> {
    let version = Version::V9.number().to_be_bytes();
    let length = PARAMETERS.len() as u32;
    let mut crc = crc32fast::Hasher::new();
    crc.update(&version);
    crc.update(&(id as u32).to_be_bytes());
    crc.update(&((id >> 32) as u32).to_be_bytes());
    crc.update(&length.to_be_bytes());
    crc.update(PARAMETERS);
    let mut out = version.to_vec();
    out.extend_from_slice(&id.to_be_bytes());
    out.extend_from_slice(&(length as u16).to_be_bytes());
    out.extend_from_slice(PARAMETERS);
    out.extend_from_slice(&crc.finalize().to_be_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{Fill, SegmentReader};

    #[test]
    fn segment_reader_reads_written_segment() {
        let mutations = vec![vec![7; 40], vec![8; 20]];
        let bytes = commit_log_segment(12, &mutations);
        let limit = Some(bytes.len() as u64);
        let mut reader = SegmentReader::open("CommitLog-9-12.log", bytes, 0).unwrap();
        assert_eq!(reader.fill(limit, true).unwrap(), Fill::Records);
        let read: Vec<_> = reader.records().map(|r| r.payload.to_vec()).collect();
        assert_eq!(read, mutations);
        let end = reader.records().last().unwrap().end;
        reader.consume(end);
        assert_eq!(reader.fill(limit, true).unwrap(), Fill::End);
    }
}
