//! Messages of outbox collections, whose topics their documents choose.

use std::cell::RefCell;

use event_encoding::topic_names::LONGEST;

use super::{BatchBuilder, Message};
use crate::bson::Document;
use crate::change::Change;
use crate::error::{Problem, Result};
use crate::namespaces::Routing;
use crate::shape_cache::TopicShapes;
use crate::topic::Topic;
use crate::transform::{EventRouter, Transform};

/// The document of an outbox and the index of its topic; `None` if it has no message.
pub(super) type Routed<'b> = Result<Option<(Document<'b>, usize)>>;

impl<'f> BatchBuilder<'f> {
    fn router(&self, namespace: usize) -> Option<(usize, &'f EventRouter)> {
        let number = self.namespaces.get(namespace)?.transform?;
        match self.transforms.get(number)? {
            Transform::EventRouter(router) => Some((number, router)),
            Transform::ExtractDocument(_) => None,
        }
    }

    /// `None` for other collections.
    pub(super) fn route<'b, R: Routing>(
        &mut self,
        change: &Change<'b>,
        namespace: usize,
        routing: &mut R,
    ) -> Result<Option<Routed<'b>>, R::Error> {
        let Some((number, router)) = self.router(namespace) else {
            return Ok(None);
        };
        let found = router.document(change).and_then(|document| {
            let value = document.map(|document| Ok((document, router.route(document)?)));
            value.transpose()
        });
        let (document, value) = match found {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(Some(Ok(None))),
            Err(error) => return Ok(Some(Err(error))),
        };
        let value = String::from_utf8_lossy(&value);
        if let Some(topic) = self.routes.get(&(namespace, (*value).into())) {
            return Ok(Some(Ok(Some((document, *topic)))));
        }
        let name = routing.route(number, &value)?;
        if !is_topic(&name) {
            let wrong = Problem::OutboxTopic { topic: name };
            return Ok(Some(Err(wrong.at_offset(document.offset()))));
        }
        let topic = self.batch.topics.len();
        let database = String::from_utf8_lossy(change.database);
        let collection = String::from_utf8_lossy(change.collection);
        self.batch.topics.push(Topic {
            subject: format!("{database}.{collection}"),
            name,
        });
        self.routes.insert((namespace, (*value).into()), topic);
        Ok(Some(Ok(Some((document, topic)))))
    }

    pub(super) fn add_routed(
        &mut self,
        change: &Change<'_>,
        namespace: usize,
        routed: Routed<'_>,
    ) -> Result<()> {
        let name = (change.database, change.collection);
        let topics = &mut self.batch.topics;
        let own = self.namespaces.topic(namespace, topics, self.format, name);
        self.count_in_transaction(change, own)?;
        let (Some((document, topic)), Some((_, router))) = (routed?, self.router(namespace)) else {
            self.count_skipped(change.operation.name());
            return Ok(());
        };
        let missing = RefCell::new(Vec::new());
        let shapes = TopicShapes {
            cache: self.shapes,
            topic: self.batch.topics.get(topic).map_or("", |topic| &topic.name),
            missing: &missing,
        };
        let out = &mut self.batch.bytes;
        let key_start = out.len();
        router.write_key(out, document, self.format, shapes)?;
        let value_start = out.len();
        let has_value = router.write_value(out, document, self.format, shapes)?;
        self.batch.unregistered.extend(missing.into_inner());
        let number = self.batch.entries.len();
        let extras = router.extras(document, number)?;
        let message = Message {
            key_start,
            value_start,
            id: [0; 16],
            kind: change.operation.into(),
            timestamp_us: change.source.ts_ms.saturating_mul(1000),
            cluster_time: change.source.cluster_time,
        };
        self.push(topic, &message);
        if let Some(entry) = self.batch.entries.last_mut() {
            // A text may be empty.
            entry.has_value = has_value;
        }
        self.identity
            .set(change, message.kind, number, &mut self.batch.entries);
        self.batch.extras.push(extras);
        Ok(())
    }
}

/// Whether Kafka allows a topic of this name.
fn is_topic(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=LONGEST).contains(&name.len())
        && !matches!(name, "." | "..")
        && name.bytes().all(is_allowed)
}
