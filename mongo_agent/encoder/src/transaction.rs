//! Assigns events to transactions, and detects the end of transactions.
//!
//! The events of a transaction are consecutive. It ends at the first event outside it, or at a
//! resume token of a later time. The state is stored with the offset, so that after a restart the
//! numbers continue and no transaction starts twice.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bson::Timestamp;
use crate::format::{EventFormat, Layout};
use crate::topic::Topic;
use crate::value_writer::ValueWriter;

/// An open transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenTransaction {
    /// `lsid` as strict extended JSON, a colon and `txnNumber`.
    pub id: String,
    /// Latest cluster time of its events; a large transaction spans several. Seconds and increment.
    pub time: Timestamp,
    /// `source.ts_ms` of its last event.
    pub ts_ms: i64,
    /// Number of its events by `database.collection`.
    pub counts: BTreeMap<String, u64>,
}

impl OpenTransaction {
    /// Number of its events.
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

/// The two messages of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundary {
    Begin,
    End,
}

/// The sequence numbers of an event in its transaction, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TransactionOrder {
    pub total_order: u64,
    pub data_collection_order: u64,
}

/// A change of the state by one event.
#[derive(Debug, Clone)]
struct Step {
    /// Index of the event in its batch.
    event: usize,
    transition: Transition,
}

#[derive(Debug, Clone)]
pub(crate) enum Transition {
    Ended,
    Began {
        id: String,
    },
    /// An event of the transaction, with the index of its topic.
    Counted {
        topic: usize,
        time: Timestamp,
        ts_ms: i64,
    },
}

/// The state before a batch, and its changes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timeline {
    start: Option<OpenTransaction>,
    steps: Vec<Step>,
}

impl Timeline {
    pub(crate) fn state_after(&self, events: usize, topics: &[Topic]) -> Option<OpenTransaction> {
        let mut open = self.start.clone();
        for step in self.steps.iter().take_while(|step| step.event < events) {
            apply(&mut open, &step.transition, topics);
        }
        open
    }
}

/// Applies a transition. Returns the sequence numbers of a counted event.
fn apply(
    open: &mut Option<OpenTransaction>,
    transition: &Transition,
    topics: &[Topic],
) -> Option<TransactionOrder> {
    match transition {
        Transition::Ended => {
            *open = None;
            None
        }
        Transition::Began { id } => {
            *open = Some(OpenTransaction {
                id: id.clone(),
                time: Timestamp::default(),
                ts_ms: 0,
                counts: BTreeMap::new(),
            });
            None
        }
        Transition::Counted { topic, time, ts_ms } => {
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
            Some(TransactionOrder {
                total_order: state.events(),
                data_collection_order,
            })
        }
    }
}

/// The state during a batch.
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

    /// Applies the transition of an event. Returns the sequence numbers of a counted event.
    pub(crate) fn step(
        &mut self,
        event: usize,
        transition: Transition,
        topics: &[Topic],
    ) -> Option<TransactionOrder> {
        let order = apply(&mut self.open, &transition, topics);
        self.timeline.steps.push(Step { event, transition });
        order
    }

    /// Undoes an event.
    pub(crate) fn rollback(&mut self, event: usize, topics: &[Topic]) {
        let steps = &mut self.timeline.steps;
        if steps.last().is_some_and(|step| step.event == event) {
            steps.retain(|step| step.event != event);
            self.open = self.timeline.state_after(event, topics);
        }
    }
}

/// `{"status":…,"id":…,"event_count":…,"data_collections":…,"ts_ms":…}`. In a begin, counts are
/// null; Debezium 1 omits `ts_ms`.
pub(crate) fn write_value(
    writer: &mut dyn ValueWriter,
    boundary: Boundary,
    (id, ts_ms): (&str, i64),
    counts: &BTreeMap<String, u64>,
    format: &EventFormat,
) {
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    writer.literal(br#"{"status":"#);
    writer.plain(match boundary {
        Boundary::Begin => "BEGIN",
        Boundary::End => "END",
    });
    writer.literal(br#","id":"#);
    writer.text(id.as_bytes());
    match boundary {
        Boundary::Begin => {
            writer.literal(br#","event_count":"#);
            writer.null();
            writer.literal(br#","data_collections":"#);
            writer.null();
        }
        Boundary::End => {
            let events = counts
                .values()
                .fold(0_u64, |sum, count| sum.saturating_add(*count));
            writer.literal(br#","event_count":"#);
            writer.present();
            writer.number(number(events));
            writer.literal(br#","data_collections":"#);
            writer.present();
            writer.open_list();
            for (index, (collection, count)) in counts.iter().enumerate() {
                writer.item(index == 0);
                // In Debezium 1, the elements of the list are not optional.
                if format.layout != Layout::Debezium1 {
                    writer.present();
                }
                writer.literal(br#"{"data_collection":"#);
                writer.text(format.data_collection(collection).as_bytes());
                writer.literal(br#","event_count":"#);
                writer.number(number(*count));
                writer.literal(b"}");
            }
            writer.close_list();
        }
    }
    if format.layout != Layout::Debezium1 {
        writer.literal(br#","ts_ms":"#);
        writer.number(ts_ms);
    }
    writer.literal(b"}");
}

/// Writes `"transaction":{"id":…,"total_order":…,"data_collection_order":…}` of an event.
pub(crate) fn write_order<F: ValueWriter>(writer: &mut F, order: Option<(&str, TransactionOrder)>) {
    writer.literal(br#""transaction":"#);
    let Some((id, order)) = order else {
        writer.null();
        return;
    };
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    writer.present();
    writer.literal(br#"{"id":"#);
    writer.text(id.as_bytes());
    writer.literal(br#","total_order":"#);
    writer.number(number(order.total_order));
    writer.literal(br#","data_collection_order":"#);
    writer.number(number(order.data_collection_order));
    writer.literal(b"}");
}
