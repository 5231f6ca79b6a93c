//! Messages as the objects of Python that a Kafka client takes.

use commitlog_events::value::json::{write_base64, write_string};
use pyo3::exceptions::PyIndexError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

/// What the messages of a batch are made of.
pub trait Messages {
    type Entry;
    /// The kinds that there are, by their number.
    const KINDS: &'static [&'static str];

    fn topic_names(&self) -> impl Iterator<Item = &str>;
    fn topic(&self, entry: &Self::Entry) -> usize;
    fn key(&self, entry: &Self::Entry) -> &[u8];
    /// None for a tombstone.
    fn value(&self, entry: &Self::Entry) -> Option<&[u8]>;
    fn id(&self, entry: &Self::Entry) -> [u8; 16];
    fn timestamp_us(&self, entry: &Self::Entry) -> i64;
    /// The number of its kind.
    fn kind(&self, entry: &Self::Entry) -> usize;
    fn partition_hash(&self, entry: &Self::Entry) -> u32;
}

/// Writes the header `cdc.source`: node, segment and position.
pub trait SourceText<Entry> {
    fn of(&mut self, entry: &Entry) -> &[u8];
}

/// Makes the headers of events; what events share is made once.
struct Headers<'py, S> {
    py: Python<'py>,
    id: Bound<'py, PyString>,
    source: Bound<'py, PyString>,
    time: Bound<'py, PyString>,
    kinds: Vec<Bound<'py, PyTuple>>,
    source_text: S,
    digits: itoa::Buffer,
}

impl<'py, S> Headers<'py, S> {
    fn new(py: Python<'py>, kinds: &[&str], source_text: S) -> PyResult<Self> {
        let name = intern!(py, "cdc.kind");
        let kinds = kinds.iter().map(|kind| header(py, name, kind.as_bytes()));
        Ok(Self {
            py,
            id: intern!(py, "cdc.id").clone(),
            source: intern!(py, "cdc.source").clone(),
            time: intern!(py, "cdc.ts_us").clone(),
            kinds: kinds.collect::<PyResult<_>>()?,
            source_text,
            digits: itoa::Buffer::new(),
        })
    }

    fn of<M: Messages>(&mut self, batch: &M, entry: &M::Entry) -> PyResult<Bound<'py, PyList>>
    where
        S: SourceText<M::Entry>,
    {
        let kind = self
            .kinds
            .get(batch.kind(entry))
            .ok_or_else(|| PyIndexError::new_err("the kind of an event is not in its batch"))?;
        let time = self.digits.format(batch.timestamp_us(entry));
        let headers = [
            header(self.py, &self.id, &batch.id(entry))?,
            header(self.py, &self.source, self.source_text.of(entry))?,
            header(self.py, &self.time, time.as_bytes())?,
            kind.clone(),
        ];
        PyList::new(self.py, headers)
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
    entries: &[M::Entry],
    source: impl SourceText<M::Entry>,
) -> PyResult<Bound<'py, PyList>> {
    let topics = Topics::new(py, batch);
    let mut headers = Headers::new(py, M::KINDS, source)?;
    let list = PyList::empty(py);
    for entry in entries {
        let message = [
            topics.name(batch.topic(entry))?.clone().into_any(),
            PyBytes::new(py, batch.key(entry)).into_any(),
            bytes_or_none(py, batch.value(entry)),
            headers.of(batch, entry)?.into_any(),
            batch.partition_hash(entry).into_pyobject(py)?.into_any(),
        ];
        list.append(PyTuple::new(py, message)?)?;
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
    entries: &[M::Entry],
    source: impl SourceText<M::Entry>,
    partitions: &Bound<'py, PyAny>,
    on_delivery: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let mut topics = Topics::new(py, batch);
    let mut headers = Headers::new(py, M::KINDS, source)?;
    let none = py.None().into_bound(py);
    let now = 0_u32.into_pyobject(py)?.into_any();
    let list = PyList::empty(py);
    for entry in entries {
        let Some(count) = topics.partitions(batch.topic(entry), partitions)? else {
            break;
        };
        let partition = batch
            .partition_hash(entry)
            .checked_rem(count)
            .unwrap_or_default();
        let arguments = [
            topics.name(batch.topic(entry))?.clone().into_any(),
            bytes_or_none(py, batch.value(entry)),
            PyBytes::new(py, batch.key(entry)).into_any(),
            partition.into_pyobject(py)?.into_any(),
            on_delivery.clone(),
            none.clone(),
            now.clone(),
            headers.of(batch, entry)?.into_any(),
        ];
        list.append(PyTuple::new(py, arguments)?)?;
    }
    Ok(list)
}

/// One JSON line a message.
pub fn ndjson<M: Messages>(
    batch: &M,
    entries: &[M::Entry],
    mut source: impl SourceText<M::Entry>,
) -> Vec<u8> {
    let topics: Vec<_> = batch.topic_names().collect();
    let mut out = Vec::new();
    for entry in entries {
        let topic = topics.get(batch.topic(entry)).copied().unwrap_or_default();
        let kind = M::KINDS.get(batch.kind(entry)).copied().unwrap_or_default();
        out.extend_from_slice(b"{\"topic\":");
        write_string(&mut out, topic.as_bytes());
        out.extend_from_slice(b",\"key\":");
        write_shown(&mut out, batch.key(entry));
        out.extend_from_slice(b",\"value\":");
        write_shown(&mut out, batch.value(entry).unwrap_or(b"null"));
        out.extend_from_slice(b",\"headers\":{\"cdc.id\":\"");
        for byte in batch.id(entry) {
            out.extend_from_slice(format!("{byte:02x}").as_bytes());
        }
        out.extend_from_slice(b"\",\"cdc.source\":");
        write_string(&mut out, source.of(entry));
        let time = batch.timestamp_us(entry);
        let headers = format!(",\"cdc.ts_us\":\"{time}\",\"cdc.kind\":\"{kind}\"}}}}\n");
        out.extend_from_slice(headers.as_bytes());
    }
    out
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
        let names: Vec<_> = batch
            .topic_names()
            .map(|name| PyString::new(py, name))
            .collect();
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
