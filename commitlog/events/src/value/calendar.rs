//! Days and milliseconds as dates, in the two calendars that the server prints them in.

const DAYS_PER_ERA: i64 = 146_097;
const MILLIS_PER_DAY: i64 = 86_400_000;
/// 1582-10-15, the first day of the Gregorian calendar, in days since 1970-01-01.
const FIRST_GREGORIAN_DAY: i64 = -141_427;

/// Year (astronomical: 0 is 1 BC), month and day of the proleptic Gregorian calendar.
pub(super) fn gregorian_date(days_since_epoch: i64) -> (i64, u8, u8) {
    // Years begin in March here, so that the leap day is the last of its year.
    let days = days_since_epoch.saturating_add(719_468);
    let era = days.div_euclid(DAYS_PER_ERA);
    let day_of_era = days.rem_euclid(DAYS_PER_ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    from_march(era * 400 + year_of_era, day_of_year)
}

/// The same in the Julian calendar.
fn julian_date(days_since_epoch: i64) -> (i64, u8, u8) {
    let days = days_since_epoch.saturating_add(719_470);
    let cycle = days.div_euclid(1461);
    let day_of_cycle = days.rem_euclid(1461);
    let year_of_cycle = (day_of_cycle - day_of_cycle / 1460) / 365;
    from_march(
        cycle * 4 + year_of_cycle,
        day_of_cycle - 365 * year_of_cycle,
    )
}

fn from_march(year: i64, day_of_year: i64) -> (i64, u8, u8) {
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    if month < 10 {
        (year, month as u8 + 3, day as u8)
    } else {
        (year + 1, month as u8 - 9, day as u8)
    }
}

/// ISO 8601: at least four digits of year, a sign before more of them (`LocalDate#toString`).
pub(super) fn write_date(out: &mut Vec<u8>, days_since_epoch: i64) {
    let (year, month, day) = gregorian_date(days_since_epoch);
    if year < 0 {
        out.push(b'-');
    } else if year > 9999 {
        out.push(b'+');
    }
    write_padded(out, year.unsigned_abs(), 4);
    write_month_and_day(out, month, day);
}

/// `2024-01-01T00:00:00.000Z`: as Java's `SimpleDateFormat` does it, in the Julian calendar
/// before 15 October 1582 and with years BC counted without a sign.
pub(super) fn write_timestamp(out: &mut Vec<u8>, millis_since_epoch: i64) {
    let days = millis_since_epoch.div_euclid(MILLIS_PER_DAY);
    let millis = millis_since_epoch.rem_euclid(MILLIS_PER_DAY).unsigned_abs();
    let (year, month, day) = if days < FIRST_GREGORIAN_DAY {
        julian_date(days)
    } else {
        gregorian_date(days)
    };
    let year_of_era = if year > 0 { year } else { 1 - year };
    write_padded(out, year_of_era.unsigned_abs(), 4);
    write_month_and_day(out, month, day);
    out.push(b'T');
    write_clock(out, millis / 1000);
    out.push(b'.');
    write_padded(out, millis % 1000, 3);
    out.push(b'Z');
}

/// `12:34:56.789012345` (`TimeSerializer#toString`).
pub(super) fn write_time(out: &mut Vec<u8>, nanos_of_day: u64) {
    write_clock(out, nanos_of_day / 1_000_000_000);
    out.push(b'.');
    write_padded(out, nanos_of_day % 1_000_000_000, 9);
}

fn write_month_and_day(out: &mut Vec<u8>, month: u8, day: u8) {
    out.push(b'-');
    write_padded(out, u64::from(month), 2);
    out.push(b'-');
    write_padded(out, u64::from(day), 2);
}

fn write_clock(out: &mut Vec<u8>, seconds: u64) {
    write_padded(out, seconds / 3600, 2);
    out.push(b':');
    write_padded(out, seconds / 60 % 60, 2);
    out.push(b':');
    write_padded(out, seconds % 60, 2);
}

fn write_padded(out: &mut Vec<u8>, number: u64, width: usize) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(number).as_bytes();
    let zeros = width.saturating_sub(digits.len());
    out.extend(std::iter::repeat_n(b'0', zeros));
    out.extend_from_slice(digits);
}
