//! Messages as the objects of Python that a Kafka client takes.

use commitlog_events::value::json::{write_base64, write_string};
use pyo3::exceptions::PyIndexError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

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
    /// Writes the header `cdc.source`: node, segment and position.
    fn write_source(&self, out: &mut Vec<u8>, entry: &Self::Entry);

    /// Headers beside those of every message.
    fn more_headers(&self, _index: usize) -> impl Iterator<Item = (&str, &[u8])> {
        std::iter::empty()
    }

    /// Kafka's time of the message and its partition, if they are not those of publication and key.
    fn placement(&self, _index: usize) -> (Option<i64>, Option<i32>) {
        (None, None)
    }

    /// The entries with their indexes.
    fn range(&self, first: usize, stop: usize) -> impl Iterator<Item = (usize, &Self::Entry)> {
        let entries = self.entries();
        let stop = stop.min(entries.len());
        (first..).zip(entries.get(first..stop).unwrap_or_default())
    }
}

/// Makes the headers of events; what events share is made once.
struct Headers<'py> {
    py: Python<'py>,
    id: Bound<'py, PyString>,
    source: Bound<'py, PyString>,
    time: Bound<'py, PyString>,
    kinds: Vec<Bound<'py, PyTuple>>,
    source_text: Vec<u8>,
    digits: itoa::Buffer,
}

impl<'py> Headers<'py> {
    fn new<M: Messages>(py: Python<'py>) -> PyResult<Self> {
        let name = intern!(py, "cdc.kind");
        let kinds = M::kinds().map(|kind| header(py, name, kind.as_bytes()));
        Ok(Self {
            py,
            id: intern!(py, "cdc.id").clone(),
            source: intern!(py, "cdc.source").clone(),
            time: intern!(py, "cdc.ts_us").clone(),
            kinds: kinds.collect::<PyResult<_>>()?,
            source_text: Vec::new(),
            digits: itoa::Buffer::new(),
        })
    }

    fn make<M: Messages>(
        &mut self,
        batch: &M,
        (index, entry): (usize, &M::Entry),
        message: &Message<'_>,
    ) -> PyResult<Bound<'py, PyList>> {
        let kind = self
            .kinds
            .get(message.kind)
            .ok_or_else(|| PyIndexError::new_err("the kind of an event is not in its batch"))?;
        let time = self.digits.format(message.timestamp_us);
        self.source_text.clear();
        batch.write_source(&mut self.source_text, entry);
        let headers = [
            header(self.py, &self.id, &message.id)?,
            header(self.py, &self.source, &self.source_text)?,
            header(self.py, &self.time, time.as_bytes())?,
            kind.clone(),
        ];
        let headers = PyList::new(self.py, headers)?;
        for (name, value) in batch.more_headers(index) {
            headers.append(header(self.py, &PyString::new(self.py, name), value)?)?;
        }
        Ok(headers)
    }
}

fn header<'py>(
    py: Python<'py>,
    name: &Bound<'py, PyString>,
    value: &[u8],
) -> PyResult<Bound<'py, PyTuple>> {
    let value = PyBytes::new(py, value).into_any();
    PyTuple::new(py, [name.clone().into_any(), value])
}

/// Tuples of topic, key, value, headers, partition hash.
pub fn messages<'py, M: Messages>(
    py: Python<'py>,
    batch: &M,
    first: usize,
    stop: usize,
) -> PyResult<Bound<'py, PyList>> {
    let topics = Topics::new(py, batch);
    let mut headers = Headers::new::<M>(py)?;
    let list = PyList::empty(py);
    for (index, entry) in batch.range(first, stop) {
        let message = batch.message(entry);
        let members = [
            topics.name(message.topic)?.clone().into_any(),
            PyBytes::new(py, message.key).into_any(),
            bytes_or_none(py, message.value),
            headers.make(batch, (index, entry), &message)?.into_any(),
            message.partition_hash.into_pyobject(py)?.into_any(),
        ];
        list.append(PyTuple::new(py, members)?)?;
    }
    Ok(list)
}

/// The arguments of calls of `confluent_kafka.Producer.produce`, in their order: topic, value, key,
/// partition, callback, the callback's other name, timestamp, headers.
///
/// `partitions` returns the number of partitions, once for each topic; if it returns None, the
/// list ends before the topic's first event.
pub fn produce_arguments<'py, M: Messages>(
    py: Python<'py>,
    batch: &M,
    (first, stop): (usize, usize),
    partitions: &Bound<'py, PyAny>,
    on_delivery: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let mut topics = Topics::new(py, batch);
    let mut headers = Headers::new::<M>(py)?;
    let none = py.None().into_bound(py);
    let now = 0_u32.into_pyobject(py)?.into_any();
    let list = PyList::empty(py);
    for (index, entry) in batch.range(first, stop) {
        let message = batch.message(entry);
        let Some(count) = topics.partitions(message.topic, partitions)? else {
            break;
        };
        let (timestamp_ms, own) = batch.placement(index);
        let own = own.and_then(|number| u32::try_from(number).ok());
        // A partition that the topic lacks would be an error of the client.
        let partition = own
            .filter(|number| *number < count)
            .or(message.partition_hash.checked_rem(count));
        let time = match timestamp_ms {
            Some(millis) => millis.into_pyobject(py)?.into_any(),
            None => now.clone(),
        };
        let arguments = [
            topics.name(message.topic)?.clone().into_any(),
            bytes_or_none(py, message.value),
            PyBytes::new(py, message.key).into_any(),
            partition.unwrap_or_default().into_pyobject(py)?.into_any(),
            on_delivery.clone(),
            none.clone(),
            time,
            headers.make(batch, (index, entry), &message)?.into_any(),
        ];
        list.append(PyTuple::new(py, arguments)?)?;
    }
    Ok(list)
}

/// One JSON line a message.
pub fn ndjson<'py, M: Messages>(
    py: Python<'py>,
    batch: &M,
    first: usize,
    stop: usize,
) -> Bound<'py, PyBytes> {
    let topics: Vec<_> = batch.topics().collect();
    let kinds: Vec<_> = M::kinds().collect();
    let mut out = Vec::new();
    let mut source = Vec::new();
    for (index, entry) in batch.range(first, stop) {
        let message = batch.message(entry);
        let topic = topics.get(message.topic).copied().unwrap_or_default();
        let kind = kinds.get(message.kind).copied().unwrap_or_default();
        out.extend_from_slice(b"{\"topic\":");
        write_string(&mut out, topic.as_bytes());
        out.extend_from_slice(b",\"key\":");
        write_shown(&mut out, message.key);
        out.extend_from_slice(b",\"value\":");
        write_shown(&mut out, message.value.unwrap_or(b"null"));
        out.extend_from_slice(b",\"headers\":{\"cdc.id\":\"");
        for byte in message.id {
            out.extend_from_slice(format!("{byte:02x}").as_bytes());
        }
        out.extend_from_slice(b"\",\"cdc.source\":");
        source.clear();
        batch.write_source(&mut source, entry);
        write_string(&mut out, &source);
        let time = message.timestamp_us;
        let headers = format!(",\"cdc.ts_us\":\"{time}\",\"cdc.kind\":\"{kind}\"");
        out.extend_from_slice(headers.as_bytes());
        for (name, value) in batch.more_headers(index) {
            out.push(b',');
            write_string(&mut out, name.as_bytes());
            out.push(b':');
            write_string(&mut out, value);
        }
        out.extend_from_slice(b"}}\n");
    }
    PyBytes::new(py, &out)
}

/// JSON as it is, Avro as base64 and other text as a string: no JSON begins with a zero, nor as the
/// text of a struct does.
fn write_shown(out: &mut Vec<u8>, part: &[u8]) {
    match part.first() {
        Some(0) => write_base64(out, part),
        Some(b'S') => write_string(out, part),
        _ => out.extend_from_slice(part),
    }
}

fn bytes_or_none<'py>(py: Python<'py>, bytes: Option<&[u8]>) -> Bound<'py, PyAny> {
    match bytes {
        Some(bytes) => PyBytes::new(py, bytes).into_any(),
        None => py.None().into_bound(py),
    }
}

/// The names of a batch's topics, and how many partitions those have that were met.
struct Topics<'py> {
    names: Vec<Bound<'py, PyString>>,
    partitions: Vec<Option<u32>>,
}

impl<'py> Topics<'py> {
    fn new(py: Python<'py>, batch: &impl Messages) -> Self {
        let names: Vec<_> = batch.topics().map(|name| PyString::new(py, name)).collect();
        let partitions = vec![None; names.len()];
        Self { names, partitions }
    }

    fn name(&self, topic: usize) -> PyResult<&Bound<'py, PyString>> {
        self.names
            .get(topic)
            .ok_or_else(|| PyIndexError::new_err("the topic of an event is not in its batch"))
    }

    fn partitions(&mut self, topic: usize, ask: &Bound<'py, PyAny>) -> PyResult<Option<u32>> {
        if let Some(Some(known)) = self.partitions.get(topic) {
            return Ok(Some(*known));
        }
        let answer = ask.call1((self.name(topic)?,))?.extract()?;
        if let Some(place) = self.partitions.get_mut(topic) {
            *place = answer;
        }
        Ok(answer)
    }
}
