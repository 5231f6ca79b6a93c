//! The messages of an encoded batch, with their headers.

/// The headers of every message.
pub const ID_HEADER: &str = "cdc.id";
pub const SOURCE_HEADER: &str = "cdc.source";
pub const TIME_HEADER: &str = "cdc.ts_us";
pub const KIND_HEADER: &str = "cdc.kind";

/// A message of a batch.
pub struct Message<'b> {
    /// Its index in [`Messages::topics`].
    pub topic: usize,
    pub key: &'b [u8],
    /// None for a tombstone.
    pub value: Option<&'b [u8]>,
    pub id: [u8; 16],
    pub timestamp_us: i64,
    /// Its index in [`Messages::kinds`].
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

    /// Headers beside those of every message.
    fn more_headers(&self, _index: usize) -> impl Iterator<Item = (&str, &[u8])> {
        std::iter::empty()
    }

    /// Kafka's time of the message, if it is not that of publication.
    fn timestamp_ms(&self, _index: usize) -> Option<i64> {
        None
    }

    /// The partition that was chosen for a message, if its key does not decide.
    fn chosen_partition(&self, _index: usize) -> Option<i32> {
        None
    }

    /// The partition of a message among `count`.
    fn partition(&self, index: usize, message: &Message<'_>, count: u32) -> u32 {
        let chosen = self.chosen_partition(index);
        let chosen = chosen.and_then(|number| u32::try_from(number).ok());
        // A partition that the topic lacks would be an error of the client.
        let chosen = chosen.filter(|number| *number < count);
        let partition = chosen.or(message.partition_hash.checked_rem(count));
        partition.unwrap_or_default()
    }

    /// The entries with their indexes.
    fn range(&self, first: usize, stop: usize) -> impl Iterator<Item = (usize, &Self::Entry)> {
        let entries = self.entries();
        let stop = stop.min(entries.len());
        (first..).zip(entries.get(first..stop).unwrap_or_default())
    }
}
