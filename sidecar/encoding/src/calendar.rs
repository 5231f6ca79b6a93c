//! The proleptic Gregorian calendar.

const DAYS_PER_ERA: i64 = 146_097;

/// Returns year (astronomical: 0 is 1 BC), month and day of the proleptic Gregorian calendar.
pub fn date_of_day(days_since_epoch: i64) -> (i64, i64, i64) {
    // Years begin in March here, so that the leap day is the last day of its year.
    let days = days_since_epoch.saturating_add(719_468);
    let era = days.div_euclid(DAYS_PER_ERA);
    let day_of_era = days.rem_euclid(DAYS_PER_ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let year = era * 400 + year_of_era;
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    if month < 10 {
        (year, month + 3, day)
    } else {
        (year + 1, month - 9, day)
    }
}
