//! Events as JSON: the member `cells` (docs/reference/event-format.md, section 5).

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

use crate::error::MergeError;

const MISSING_CELLS: &str = "has no `cells`. Set `event.cells=true` for the agents";
const NOT_AN_EVENT: &str =
    "is not an event of the supported format. Read only topics of the Cassandra agent";
const IS_AVRO: &str =
    "is Avro, but the merge reads JSON. Set `value.converter=json` for the agents";
const AVRO_MAGIC: char = '\0';
/// Characters of a value in an error message.
const START: usize = 100;

/// Borrowed unless the JSON has escapes.
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

/// A deletion, a liveness or a cell; bytes are in base64.
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

/// The part of an event that is merged. Absent members do not apply.
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

/// Connect's `JsonConverter` with a schema has the event in `payload`.
#[derive(Deserialize)]
struct Value<'a> {
    #[serde(borrow)]
    cells: Option<Cells<'a>>,
    #[serde(borrow)]
    payload: Option<Payload<'a>>,
}

#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow)]
    cells: Option<Cells<'a>>,
}

/// Reads the `cells` of an event.
///
/// # Errors
/// [`MergeError::Event`] with the start of the value and what to do.
pub fn read_event(text: &str) -> Result<Cells<'_>, MergeError> {
    match serde_json::from_str::<Value<'_>>(text) {
        Ok(value) => {
            let payload = value.payload;
            let cells = value
                .cells
                .or_else(|| payload.and_then(|payload| payload.cells));
            cells.ok_or_else(|| rejected(text, MISSING_CELLS.to_owned()))
        }
        Err(_) if text.starts_with(AVRO_MAGIC) => Err(rejected(text, IS_AVRO.to_owned())),
        Err(error) => Err(not_an_event(text, &error.to_string())),
    }
}

/// The error for a value that is JSON but no event.
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
