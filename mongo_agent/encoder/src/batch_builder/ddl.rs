//! Adds messages of DDL events.

use super::{BatchBuilder, Message};
use crate::batch::Kind;
use crate::bson::Timestamp;
use crate::change::DdlEvent;
use crate::error::{Problem, Result};
use crate::layout::{ValueContext, ddl};
use crate::namespaces::Routing;
use crate::schemas::Record;

impl BatchBuilder<'_> {
    /// Database events are always captured. A rename is captured if the collection is captured
    /// under its old or new name.
    pub(super) fn is_captured<R: Routing>(
        &mut self,
        event: &DdlEvent<'_>,
        routing: &mut R,
    ) -> Result<bool, R::Error> {
        let named = event.source.database.zip(event.source.collection);
        let mut is_captured = named.is_none();
        for (database, collection) in named.into_iter().chain(event.to) {
            let namespaces = &mut self.namespaces;
            let found = namespaces.find(database, collection, self.format, routing)?;
            is_captured |= namespaces.get(found).is_some_and(|known| known.is_captured);
        }
        Ok(is_captured)
    }

    pub(super) fn add_ddl(&mut self, event: &DdlEvent<'_>) -> Result<()> {
        self.end_other_transaction(event.source.transaction.as_ref())?;
        if event.source.cluster_time == Timestamp::default() {
            let member = "clusterTime";
            return Err(Problem::Missing { member }.at_offset(0));
        }
        let names = event
            .source
            .database
            .into_iter()
            .chain(event.source.collection);
        let names: Vec<_> = names.map(String::from_utf8_lossy).collect();
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        let subject = names.join(".");
        let name = match &self.format.schema_topic {
            Some(topic) => topic.clone(),
            None => self.topic_of(event, &names),
        };
        let context = ValueContext {
            format: self.format,
            at_ns: self.at_ns,
            order: None,
        };
        let topic = self.topic(Record::Ddl, &subject, &name);
        let formats = self.formats(topic, Record::Ddl)?;
        let out = &mut self.batch.bytes;
        let key_start = out.len();
        formats.key.write_id_key(out, self.format.key, &subject);
        let value_start = out.len();
        formats.value.around(out, self.format.value, |writer| {
            ddl::write_value(writer, event, &context)
        })?;
        let message = Message {
            key_start,
            value_start,
            id: self.identity.ddl_id(event),
            kind: Kind::Schema,
            timestamp_us: event.source.ts_ms.saturating_mul(1000),
            cluster_time: event.source.cluster_time,
        };
        self.push(topic, &message);
        Ok(())
    }

    /// Returns the topic of the collection or database of a DDL event.
    fn topic_of(&self, event: &DdlEvent<'_>, names: &[&str]) -> String {
        let named = event.source.database.zip(event.source.collection);
        let own = named
            .and_then(|(database, collection)| self.namespaces.topic_name(database, collection));
        own.map_or_else(|| self.format.topic(names), str::to_owned)
    }
}
