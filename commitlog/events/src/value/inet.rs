use std::io::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

use commitlog_core::cql_type::CqlType;

use super::{Result, ValueError};

/// Writes an address like Java's `InetAddress#getHostAddress`: IPv6 as eight groups without leading
/// zeros, never shortened with `::`; an IPv4-mapped IPv6 address as IPv4.
pub(crate) fn write_host_address(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    if let Ok(octets) = <[u8; 4]>::try_from(bytes) {
        write_ipv4(out, octets.into());
    } else if let Ok(octets) = <[u8; 16]>::try_from(bytes) {
        let address = Ipv6Addr::from(octets);
        if let Some(mapped) = address.to_ipv4_mapped() {
            write_ipv4(out, mapped);
        } else {
            let mut separator: &[u8] = b"";
            for group in address.segments() {
                out.extend_from_slice(separator);
                // Writing into a Vec cannot fail.
                let _ = write!(out, "{group:x}");
                separator = b":";
            }
        }
    } else {
        return Err(ValueError::length(&CqlType::Inet, "4 or 16", bytes.len()));
    }
    Ok(())
}

fn write_ipv4(out: &mut Vec<u8>, address: Ipv4Addr) {
    let mut separator: &[u8] = b"";
    for octet in address.octets() {
        out.extend_from_slice(separator);
        out.extend_from_slice(itoa::Buffer::new().format(octet).as_bytes());
        separator = b".";
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::float_cmp)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Result<String> {
        let mut out = Vec::new();
        write_host_address(&mut out, bytes)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn addresses_match_java() {
        assert_eq!(text(&[192, 0, 2, 1]).unwrap(), "192.0.2.1");
        let cases = [
            ("2001:db8::1", "2001:db8:0:0:0:0:0:1"),
            ("::", "0:0:0:0:0:0:0:0"),
            ("::1.2.3.4", "0:0:0:0:0:0:102:304"),
            ("::ffff:1.2.3.4", "1.2.3.4"),
        ];
        for (address, expected) in cases {
            let address: Ipv6Addr = address.parse().unwrap();
            assert_eq!(text(&address.octets()).unwrap(), expected);
        }
    }

    #[test]
    fn other_lengths_are_rejected() {
        for length in [1, 3, 5, 15, 17] {
            assert!(text(&vec![0; length]).is_err());
        }
    }
}
