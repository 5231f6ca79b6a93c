use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::super::inet::write_host_address;
use super::ValueError;

/// Bytes encoded with one call: a multiple of three, so that only the last call pads.
const BASE64_BLOCK: usize = 3 * 256;

/// A string of padded base64 in the standard alphabet.
pub(super) fn write_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len().div_ceil(3).saturating_mul(4).saturating_add(2));
    out.push(b'"');
    let mut encoded = [0; BASE64_BLOCK / 3 * 4];
    for block in bytes.chunks(BASE64_BLOCK) {
        let length = STANDARD.encode_slice(block, &mut encoded).unwrap_or(0);
        out.extend_from_slice(encoded.get(..length).unwrap_or_default());
    }
    out.push(b'"');
}

/// `"/192.0.2.1"`: what Java's `InetAddress#toString` says of an address without a name.
pub(super) fn write_inet(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), ValueError> {
    let start = out.len();
    out.extend_from_slice(b"\"/");
    if let Err(error) = write_host_address(out, bytes) {
        out.truncate(start);
        return Err(error);
    }
    out.push(b'"');
    Ok(())
}
