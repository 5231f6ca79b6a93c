//! Parses the member `cells` of JSON events (docs/reference/event-format.md, section 5).

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use serde_json::value::RawValue;

use crate::error::MergeError;

const MISSING_CELLS: &str = "has no `cells`. Set `event.cells=true` for the agents";
const NOT_AN_EVENT: &str =
    "is not an event of the supported format. Read only topics of the Cassandra agent";
const IS_AVRO: &str =
    "is Avro, but the merge reads JSON. Set `value.converter=json` for the agents";
const AVRO_MAGIC: char = '\0';
/// How many characters of a value an error message shows.
const START: usize = 100;

/// A JSON string, which is borrowed unless it contains escapes.
#[derive(Debug)]
pub struct Text<'a>(pub Cow<'a, str>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Row,
    Static,
    Partition,
    Range,
}

/// A deletion, a liveness or a cell. Bytes are encoded as base64.
#[derive(Debug, Deserialize)]
pub struct Written<'a> {
    #[serde(borrow)]
    pub col: Option<Text<'a>>,
    #[serde(borrow)]
    pub path: Option<Text<'a>>,
    #[serde(borrow)]
    pub key: Option<Text<'a>>,
    pub ts: i64,
    #[serde(default)]
    pub ttl: Option<i32>,
    pub ldt: Option<i64>,
    #[serde(borrow)]
    pub val: Option<Text<'a>>,
}

/// The part of an event that is merged. Members depend on `kind`.
#[derive(Debug, Deserialize)]
pub struct Cells<'a> {
    pub kind: Kind,
    #[serde(borrow)]
    pub pk: Text<'a>,
    #[serde(borrow)]
    pub ck: Option<Text<'a>>,
    #[serde(borrow)]
    pub ckv: Option<Vec<Option<Text<'a>>>>,
    #[serde(borrow)]
    pub lo: Option<Text<'a>>,
    #[serde(borrow)]
    pub hi: Option<Text<'a>>,
    #[serde(borrow)]
    pub live: Option<Written<'a>>,
    #[serde(borrow)]
    pub del: Option<Written<'a>>,
    #[serde(borrow)]
    pub cdel: Option<Vec<Written<'a>>>,
    #[serde(borrow)]
    pub cell: Option<Vec<Written<'a>>>,
}

/// The value of a record. Connect's `JsonConverter` with schemas puts the event into `payload`.
#[derive(Deserialize)]
struct Value<T> {
    cells: Option<T>,
    payload: Option<Payload<T>>,
}

#[derive(Deserialize)]
struct Payload<T> {
    cells: Option<T>,
}

/// The table and the row of an event.
#[derive(Deserialize)]
struct Place<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    token: i64,
    #[serde(borrow)]
    ck: Option<Text<'a>>,
}

/// Finds the text of `cells` in the value of a record.
///
/// # Errors
/// [`MergeError::Event`] as for [`read_event`].
pub fn find_cells(value: &[u8]) -> Result<&str, MergeError> {
    let text = std::str::from_utf8(value).map_err(|error| {
        let lossy = String::from_utf8_lossy(value.get(..START).unwrap_or(value));
        match value.first() {
            Some(0) => rejected(&lossy, IS_AVRO.to_owned()),
            _ => not_an_event(&lossy, &error.to_string()),
        }
    })?;
    Ok(cells_of::<&RawValue>(text)?.get())
}

/// Reads the table, the token and the clustering key from `cells`.
///
/// # Errors
/// [`MergeError::Event`] without a table or a token.
pub fn read_place(cells: &str) -> Result<(Text<'_>, i64, Option<Text<'_>>), MergeError> {
    let place = serde_json::from_str::<Place<'_>>(cells).map_err(|error| invalid(cells, &error))?;
    Ok((place.id, place.token, place.ck))
}

/// Reads the `cells` of an event.
///
/// # Errors
/// [`MergeError::Event`] with the start of the value and the remedy.
pub fn read_event(text: &str) -> Result<Cells<'_>, MergeError> {
    cells_of(text)
}

fn cells_of<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, MergeError> {
    let value = serde_json::from_str::<Value<T>>(text).map_err(|error| invalid(text, &error))?;
    let payload = value.payload;
    let cells = value
        .cells
        .or_else(|| payload.and_then(|payload| payload.cells));
    cells.ok_or_else(|| rejected(text, MISSING_CELLS.to_owned()))
}

#[cold]
fn invalid(text: &str, error: &serde_json::Error) -> MergeError {
    if text.starts_with(AVRO_MAGIC) {
        return rejected(text, IS_AVRO.to_owned());
    }
    not_an_event(text, &error.to_string())
}

/// Creates the error for a value that is not an event.
#[cold]
pub fn not_an_event(text: &str, cause: &str) -> MergeError {
    rejected(text, format!("{NOT_AN_EVENT} ({cause})"))
}

#[cold]
fn rejected(text: &str, reason: String) -> MergeError {
    MergeError::Event {
        start: text.chars().take(START).collect(),
        reason,
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("text")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(TextVisitor)
    }
}
