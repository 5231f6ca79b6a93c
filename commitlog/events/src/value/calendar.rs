//! Formats dates, timestamps and times of day as text.

use event_encoding::calendar::date_of_day;

const MILLIS_PER_DAY: i64 = 86_400_000;

/// Writes `2024-02-29`, with a sign for years below 0 and above 9999 (`SimpleDateSerializer`).
pub(super) fn write_date(out: &mut Vec<u8>, days_since_epoch: i64) {
    let (year, month, day) = date_of_day(days_since_epoch);
    if year < 0 {
        out.push(b'-');
    } else if year > 9999 {
        out.push(b'+');
    }
    write_year_month_day(out, year.saturating_abs(), month, day);
}

/// Writes `2024-01-01T00:00:00.000Z`; years BC count from 1 without a sign (`TimestampSerializer`).
pub(super) fn write_timestamp(out: &mut Vec<u8>, millis_since_epoch: i64) {
    let (year, month, day) = date_of_day(millis_since_epoch.div_euclid(MILLIS_PER_DAY));
    let year_of_era = if year > 0 { year } else { 1 - year };
    if year_of_era > 9999 {
        out.push(b'+');
    }
    write_year_month_day(out, year_of_era, month, day);
    out.push(b'T');
    let millis = millis_since_epoch.rem_euclid(MILLIS_PER_DAY);
    write_clock(out, millis / 1000);
    out.push(b'.');
    write_padded(out, millis % 1000, 3);
    out.push(b'Z');
}

/// Writes `12:34:56.789012345`, also for numbers outside a day (`TimeSerializer`).
pub(super) fn write_time(out: &mut Vec<u8>, nanos_of_day: i64) {
    write_clock(out, nanos_of_day / 1_000_000_000);
    out.push(b'.');
    write_padded(out, nanos_of_day / 1_000_000 % 1000, 3);
    write_padded(out, nanos_of_day / 1000 % 1000, 3);
    write_padded(out, nanos_of_day % 1000, 3);
}

fn write_year_month_day(out: &mut Vec<u8>, year: i64, month: i64, day: i64) {
    write_padded(out, year, 4);
    out.push(b'-');
    write_padded(out, month, 2);
    out.push(b'-');
    write_padded(out, day, 2);
}

fn write_clock(out: &mut Vec<u8>, seconds: i64) {
    write_padded(out, seconds / 3600 % 24, 2);
    out.push(b':');
    write_padded(out, seconds / 60 % 60, 2);
    out.push(b':');
    write_padded(out, seconds % 60, 2);
}

/// Pads with zeros to `width` digits; a negative number gets `width - 1` zeros before its sign.
fn write_padded(out: &mut Vec<u8>, number: i64, width: usize) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(number).as_bytes();
    let length = if number < 0 { 1 } else { digits.len() };
    out.extend(std::iter::repeat_n(b'0', width.saturating_sub(length)));
    out.extend_from_slice(digits);
}
