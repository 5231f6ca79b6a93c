use commitlog_core::cql_type::CqlType;

use super::{Result, ValueError, ValueReader};

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const NANOS_PER_DAY: i64 = 86_400 * NANOS_PER_SECOND;
/// The length of a month in Debezium's connector.
const DAYS_PER_MONTH: i64 = 30;

/// A `duration`: months, days and nanoseconds, all with the same sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duration {
    pub months: i32,
    pub days: i32,
    pub nanoseconds: i64,
}

impl Duration {
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut reader = ValueReader::new(&CqlType::Duration, bytes);
        let months = read_i32(&mut reader)?;
        let days = read_i32(&mut reader)?;
        let nanoseconds = reader.read_signed_vint()?;
        reader.finish()?;
        Ok(Self {
            months,
            days,
            nanoseconds,
        })
    }

    /// Returns the total in nanoseconds, with 30 days per month; it wraps beyond 292 years.
    pub fn total_nanoseconds(self) -> i64 {
        i64::from(self.months)
            .wrapping_mul(DAYS_PER_MONTH)
            .wrapping_add(i64::from(self.days))
            .wrapping_mul(NANOS_PER_DAY)
            .wrapping_add(self.nanoseconds)
    }

    /// Writes CQL's short form, `1y2mo3d4h5m6s7ms8us9ns` without zero parts; the text of a zero
    /// duration is empty (`Duration#toString`).
    pub fn write_text(self, out: &mut Vec<u8>) {
        if self.months < 0 || self.days < 0 || self.nanoseconds < 0 {
            out.push(b'-');
        }
        let months = u64::from(self.months.unsigned_abs());
        write_parts(out, months, &[(12, "y"), (1, "mo")]);
        write_parts(out, u64::from(self.days.unsigned_abs()), &[(1, "d")]);
        let units = [
            (3_600_000_000_000, "h"),
            (60_000_000_000, "m"),
            (1_000_000_000, "s"),
            (1_000_000, "ms"),
            (1_000, "us"),
            (1, "ns"),
        ];
        write_parts(out, self.nanoseconds.unsigned_abs(), &units);
    }
}

fn write_parts(out: &mut Vec<u8>, mut amount: u64, units: &[(u64, &str)]) {
    for (unit, name) in units {
        let count = amount / unit;
        if count > 0 {
            out.extend_from_slice(itoa::Buffer::new().format(count).as_bytes());
            out.extend_from_slice(name.as_bytes());
            amount %= unit;
        }
    }
}

fn read_i32(reader: &mut ValueReader<'_, '_>) -> Result<i32> {
    let number = reader.read_signed_vint()?;
    i32::try_from(number).map_err(|_| ValueError::range(&CqlType::Duration, number))
}
