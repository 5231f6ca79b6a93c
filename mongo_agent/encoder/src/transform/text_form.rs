//! Writes values as text without quotes, like Connect's `SimpleHeaderConverter`.

use std::borrow::Cow;

use super::document_json::{DocumentForm, write_value};
use crate::bson::Value;
use crate::error::Result;
use crate::json::{is_calendar_date, lower_hex, write_date, write_decimal128, write_double};

/// Returns the text of values that Debezium converts to strings.
pub(super) fn text_of<'b>(value: &Value<'b>) -> Option<Cow<'b, [u8]>> {
    let mut text = Vec::new();
    match value {
        Value::String(text) | Value::Code(text) | Value::Symbol(text) => {
            return Some(Cow::Borrowed(text));
        }
        Value::ObjectId(id) => text.extend(id.iter().flat_map(|byte| lower_hex(*byte))),
        Value::Decimal128(bits) => write_decimal128(&mut text, *bits),
        _ => return None,
    }
    Some(Cow::Owned(text))
}

/// Returns the text of a value that is not null. Documents and arrays become JSON.
pub(super) fn plain_text<'b>(value: &Value<'b>) -> Result<Cow<'b, [u8]>> {
    if let Some(text) = text_of(value) {
        return Ok(text);
    }
    let mut text = Vec::new();
    match value {
        Value::DateTime(millis) => write_time(&mut text, *millis),
        Value::Timestamp(time) => write_time(&mut text, i64::from(time.seconds) * 1000),
        Value::Binary { bytes, .. } => base64_simd::STANDARD.encode_append(bytes, &mut text),
        Value::Double(number) => write_double(&mut text, *number),
        value => write_value(&mut text, *value, &DocumentForm::default(), 1)?,
    }
    Ok(Cow::Owned(text))
}

/// Writes a time like Connect's `Values` for years 1970 to 9999, and otherwise as milliseconds.
fn write_time(out: &mut Vec<u8>, millis: i64) {
    const DAY_MS: i64 = 86_400_000;
    if !is_calendar_date(millis) {
        out.extend_from_slice(itoa::Buffer::new().format(millis).as_bytes());
        return;
    }
    let mut text = Vec::new();
    write_date(&mut text, millis);
    let text = String::from_utf8(text).unwrap_or_default();
    let (date, _) = text.split_once('T').unwrap_or_default();
    let of_day = millis.rem_euclid(DAY_MS);
    let (seconds, fraction) = (of_day / 1000, of_day % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let time = format!("{hour:02}:{minute:02}:{second:02}.{fraction:03}Z");
    let shown = if millis < DAY_MS {
        time
    } else if of_day == 0 {
        date.to_owned()
    } else {
        format!("{date}T{time}")
    };
    out.extend_from_slice(shown.as_bytes());
}
