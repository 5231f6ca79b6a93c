//! The messages of an encoded batch, with their headers.

/// The headers of every message.
pub const ID_HEADER: &str = "cdc.id";
pub const SOURCE_HEADER: &str = "cdc.source";
pub const TIME_HEADER: &str = "cdc.ts_us";
pub const KIND_HEADER: &str = "cdc.kind";

/// A message of a batch.
pub struct Message<'b> {
    /// Index of the topic in [`Messages::topics`].
    pub topic: usize,
    pub key: &'b [u8],
    /// `None` for a tombstone.
    pub value: Option<&'b [u8]>,
    pub id: [u8; 16],
    pub timestamp_us: i64,
    /// Index of the kind in [`Messages::kinds`].
    pub kind: usize,
    pub partition_hash: u32,
}

/// A batch of messages.
pub trait Messages {
    type Entry;

    fn entries(&self) -> &[Self::Entry];
    fn topics(&self) -> impl Iterator<Item = &str>;
    fn kinds() -> impl Iterator<Item = &'static str>;
    fn message(&self, entry: &Self::Entry) -> Message<'_>;
    /// Writes the header [`SOURCE_HEADER`]: node, origin and position.
    fn write_source(&self, out: &mut Vec<u8>, entry: &Self::Entry);

    /// Returns the additional headers of a message.
    fn more_headers(&self, _index: usize) -> impl Iterator<Item = (&str, &[u8])> {
        std::iter::empty()
    }

    /// Returns the message's Kafka timestamp, or `None` for the time of publication.
    fn timestamp_ms(&self, _index: usize) -> Option<i64> {
        None
    }

    /// Returns the partition chosen for a message, or `None` if its key determines the partition.
    fn chosen_partition(&self, _index: usize) -> Option<i32> {
        None
    }

    /// Returns the partition of a message in a topic of `count` partitions.
    fn partition(&self, index: usize, message: &Message<'_>, count: u32) -> u32 {
        let chosen = self.chosen_partition(index);
        let chosen = chosen.and_then(|number| u32::try_from(number).ok());
        // The client rejects a partition that the topic does not contain.
        let chosen = chosen.filter(|number| *number < count);
        let partition = chosen.or(message.partition_hash.checked_rem(count));
        partition.unwrap_or_default()
    }

    /// Returns the entries with their indexes.
    fn range(&self, first: usize, stop: usize) -> impl Iterator<Item = (usize, &Self::Entry)> {
        let entries = self.entries();
        let stop = stop.min(entries.len());
        (first..).zip(entries.get(first..stop).unwrap_or_default())
    }
}
