use super::super::inet::write_host_address;
use super::ValueError;

/// A string of padded base64 in the standard alphabet.
pub fn write_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    base64_simd::STANDARD.encode_append(bytes, out);
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
