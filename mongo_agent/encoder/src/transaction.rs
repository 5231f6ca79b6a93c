//! Which transaction each event is part of, and when a transaction has come to its end.
//!
//! Events of a transaction come one behind the other. That it is over is seen by an event of something
//! else, or by a resume token of a later time, whichever is first. The state is stored with the
//! position, so that after a restart in the middle the numbers go on and nothing begins twice.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::batch::Topic;
use crate::bson::Timestamp;
use crate::form::Form;
use crate::format::{EventFormat, Layout};

/// A transaction that has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenTransaction {
    /// `lsid` as strict JSON, a colon, `txnNumber`.
    pub id: String,
    /// The cluster time of its last event: a large transaction has several. Seconds and increment.
    #[serde(with = "pair")]
    pub time: Timestamp,
    /// `source.ts_ms` of its last event.
    pub ts_ms: i64,
    /// Its events so far by `database.collection`.
    pub counts: BTreeMap<String, u64>,
}

impl OpenTransaction {
    /// All its events so far.
    pub fn events(&self) -> u64 {
        let counts = self.counts.values();
        counts.fold(0, |sum, count| sum.saturating_add(*count))
    }

    pub fn from_json(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    pub fn to_json(&self) -> String {
        serde_json::json!(self).to_string()
    }
}

mod pair {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::bson::Timestamp;

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it so")]
    pub fn serialize<S: Serializer>(time: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        (time.seconds, time.increment).serialize(to)
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Timestamp, D::Error> {
        let (seconds, increment) = Deserialize::deserialize(from)?;
        Ok(Timestamp { seconds, increment })
    }
}

/// The two messages of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundary {
    Begin,
    End,
}

/// What an event is told of its transaction: numbers from 1 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub total_order: u64,
    pub data_collection_order: u64,
}

/// What one event leads to.
#[derive(Debug, Clone)]
struct Step {
    /// Its number in the batch.
    event: usize,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    Ended,
    Began {
        id: String,
    },
    /// An event of it, whose topic is this one of the batch.
    Counted {
        topic: usize,
        time: Timestamp,
        ts_ms: i64,
    },
}

/// The state in front of a batch, and what its events did to it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timeline {
    start: Option<OpenTransaction>,
    steps: Vec<Step>,
}

impl Timeline {
    pub(crate) fn after(&self, events: usize, topics: &[Topic]) -> Option<OpenTransaction> {
        let mut open = self.start.clone();
        for step in self.steps.iter().take_while(|step| step.event < events) {
            apply(&mut open, &step.what, topics);
        }
        open
    }
}

/// Gives the numbers of an event that was counted.
fn apply(open: &mut Option<OpenTransaction>, what: &What, topics: &[Topic]) -> Option<Part> {
    match what {
        What::Ended => {
            *open = None;
            None
        }
        What::Began { id } => {
            *open = Some(OpenTransaction {
                id: id.clone(),
                time: Timestamp::default(),
                ts_ms: 0,
                counts: BTreeMap::new(),
            });
            None
        }
        What::Counted { topic, time, ts_ms } => {
            let state = open.as_mut()?;
            let subject = topics.get(*topic).map_or("", |topic| &topic.subject);
            let data_collection_order = match state.counts.get_mut(subject) {
                Some(count) => {
                    *count = count.saturating_add(1);
                    *count
                }
                None => *state.counts.entry(subject.to_owned()).or_insert(1),
            };
            state.time = state.time.max(*time);
            state.ts_ms = *ts_ms;
            Some(Part {
                total_order: state.events(),
                data_collection_order,
            })
        }
    }
}

/// The state while a batch is made.
#[derive(Debug, Default)]
pub(crate) struct Transactions {
    open: Option<OpenTransaction>,
    timeline: Timeline,
}

impl Transactions {
    pub(crate) fn new(start: Option<OpenTransaction>) -> Self {
        Self {
            open: start.clone(),
            timeline: Timeline {
                start,
                steps: Vec::new(),
            },
        }
    }

    pub(crate) fn into_timeline(self) -> Timeline {
        self.timeline
    }

    pub(crate) fn open(&self) -> Option<&OpenTransaction> {
        self.open.as_ref()
    }

    pub(crate) fn end(&mut self, event: usize) {
        self.step(event, What::Ended, &[]);
    }

    pub(crate) fn begin(&mut self, event: usize, id: &str) {
        let id = id.to_owned();
        self.step(event, What::Began { id }, &[]);
    }

    pub(crate) fn count(
        &mut self,
        event: usize,
        topic: usize,
        (time, ts_ms): (Timestamp, i64),
        topics: &[Topic],
    ) -> Option<Part> {
        self.step(event, What::Counted { topic, time, ts_ms }, topics)
    }

    fn step(&mut self, event: usize, what: What, topics: &[Topic]) -> Option<Part> {
        let part = apply(&mut self.open, &what, topics);
        self.timeline.steps.push(Step { event, what });
        part
    }

    /// As if an event had not been there.
    pub(crate) fn take_back(&mut self, event: usize, topics: &[Topic]) {
        let steps = &mut self.timeline.steps;
        if steps.last().is_some_and(|step| step.event == event) {
            steps.retain(|step| step.event != event);
            self.open = self.timeline.after(event, topics);
        }
    }
}

/// `{"id":"…"}`
pub(crate) fn write_key(form: &mut dyn Form, id: &str) {
    form.literal(br#"{"id":"#);
    form.text(id.as_bytes());
    form.literal(b"}");
}

/// `{"status":…,"id":…,"event_count":…,"data_collections":…,"ts_ms":…}`; when it begins nothing is counted. Debezium 1
/// has no `ts_ms`.
pub(crate) fn write_value(
    form: &mut dyn Form,
    boundary: Boundary,
    (id, ts_ms): (&str, i64),
    counts: &BTreeMap<String, u64>,
    format: &EventFormat,
) {
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    form.literal(br#"{"status":"#);
    form.plain(match boundary {
        Boundary::Begin => "BEGIN",
        Boundary::End => "END",
    });
    form.literal(br#","id":"#);
    form.text(id.as_bytes());
    match boundary {
        Boundary::Begin => {
            form.literal(br#","event_count":"#);
            form.null();
            form.literal(br#","data_collections":"#);
            form.null();
        }
        Boundary::End => {
            let events = counts
                .values()
                .fold(0_u64, |sum, count| sum.saturating_add(*count));
            form.literal(br#","event_count":"#);
            form.there();
            form.number(number(events));
            form.literal(br#","data_collections":"#);
            form.there();
            form.open_list();
            for (index, (collection, count)) in counts.iter().enumerate() {
                form.next(index == 0);
                // What Debezium 1 counts is not optional in a list.
                if format.layout != Layout::Debezium1 {
                    form.there();
                }
                form.literal(br#"{"data_collection":"#);
                form.text(format.data_collection(collection).as_bytes());
                form.literal(br#","event_count":"#);
                form.number(number(*count));
                form.literal(b"}");
            }
            form.close_list();
        }
    }
    if format.layout != Layout::Debezium1 {
        form.literal(br#","ts_ms":"#);
        form.number(ts_ms);
    }
    form.literal(b"}");
}

/// The member `transaction` of an event: `{"id":…,"total_order":…,"data_collection_order":…}`.
pub(crate) fn write_part<F: Form>(form: &mut F, part: Option<(&str, Part)>) {
    form.literal(br#""transaction":"#);
    let Some((id, part)) = part else {
        form.null();
        return;
    };
    let number = |order: u64| i64::try_from(order).unwrap_or(i64::MAX);
    form.there();
    form.literal(br#"{"id":"#);
    form.text(id.as_bytes());
    form.literal(br#","total_order":"#);
    form.number(number(part.total_order));
    form.literal(br#","data_collection_order":"#);
    form.number(number(part.data_collection_order));
    form.literal(b"}");
}
