//! Events as the objects of Python that a Kafka client takes.

use std::sync::Arc;

use commitlog_events::batch::{self, EventEntry};
use commitlog_events::event::Kind;
use commitlog_events::format;
use pyo3::exceptions::PyIndexError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

/// Who says so: `host id/segment id/position/index`. All events share the first two parts.
pub struct SourceText {
    text: Vec<u8>,
    shared: usize,
    digits: itoa::Buffer,
}

impl SourceText {
    pub fn new(format: &Arc<format::EventFormat>, segment_id: i64) -> Self {
        let text = format!("{}/{segment_id}/", format.node_id).into_bytes();
        Self {
            shared: text.len(),
            text,
            digits: itoa::Buffer::new(),
        }
    }

    pub fn of(&mut self, entry: &EventEntry) -> &[u8] {
        self.text.truncate(self.shared);
        let position = self.digits.format(entry.position);
        self.text.extend_from_slice(position.as_bytes());
        self.text.push(b'/');
        let index = self.digits.format(entry.index);
        self.text.extend_from_slice(index.as_bytes());
        &self.text
    }
}

/// Makes the headers of events; what events share is made once.
struct Headers<'py> {
    py: Python<'py>,
    id: Bound<'py, PyString>,
    source: Bound<'py, PyString>,
    time: Bound<'py, PyString>,
    kinds: [Bound<'py, PyTuple>; Kind::ALL.len()],
    source_text: SourceText,
    digits: itoa::Buffer,
}

impl<'py> Headers<'py> {
    fn new(py: Python<'py>, source_text: SourceText) -> PyResult<Self> {
        let name = intern!(py, "cdc.kind");
        let kind = |kind: Kind| header(py, name, kind.name().as_bytes());
        let [row, of_static, partition, range] = Kind::ALL;
        Ok(Self {
            py,
            id: intern!(py, "cdc.id").clone(),
            source: intern!(py, "cdc.source").clone(),
            time: intern!(py, "cdc.ts_us").clone(),
            kinds: [kind(row)?, kind(of_static)?, kind(partition)?, kind(range)?],
            source_text,
            digits: itoa::Buffer::new(),
        })
    }

    fn of(&mut self, entry: &EventEntry) -> PyResult<Bound<'py, PyList>> {
        let [row, of_static, partition, range] = &self.kinds;
        let kind = match entry.kind {
            Kind::Row => row,
            Kind::Static => of_static,
            Kind::Partition => partition,
            Kind::Range => range,
        };
        let time = self.digits.format(entry.timestamp_us);
        let headers = [
            header(self.py, &self.id, &entry.id)?,
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
pub fn messages<'py>(
    py: Python<'py>,
    batch: &batch::EventBatch,
    entries: &[EventEntry],
    source: SourceText,
) -> PyResult<Bound<'py, PyList>> {
    let topics = Topics::new(py, batch);
    let mut headers = Headers::new(py, source)?;
    let list = PyList::empty(py);
    for entry in entries {
        let message = [
            topics.name(entry)?.clone().into_any(),
            PyBytes::new(py, batch.key(entry)).into_any(),
            PyBytes::new(py, batch.value(entry)).into_any(),
            headers.of(entry)?.into_any(),
            entry.partition_hash.into_pyobject(py)?.into_any(),
        ];
        list.append(PyTuple::new(py, message)?)?;
    }
    Ok(list)
}

/// The arguments of calls of `confluent_kafka.Producer.produce`, in their order: topic, value, key,
/// partition, callback, the callback's other name, timestamp, headers.
///
/// `partitions` is asked once for the number of partitions of each topic; where it gives None the
/// list ends before the topic's first event.
pub fn produce_arguments<'py>(
    py: Python<'py>,
    batch: &batch::EventBatch,
    entries: &[EventEntry],
    source: SourceText,
    partitions: &Bound<'py, PyAny>,
    on_delivery: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let mut topics = Topics::new(py, batch);
    let mut headers = Headers::new(py, source)?;
    let none = py.None().into_bound(py);
    let now = 0_u32.into_pyobject(py)?.into_any();
    let list = PyList::empty(py);
    for entry in entries {
        let Some(count) = topics.partitions(entry, partitions)? else {
            break;
        };
        let partition = entry.partition_hash.checked_rem(count).unwrap_or_default();
        let arguments = [
            topics.name(entry)?.clone().into_any(),
            PyBytes::new(py, batch.value(entry)).into_any(),
            PyBytes::new(py, batch.key(entry)).into_any(),
            partition.into_pyobject(py)?.into_any(),
            on_delivery.clone(),
            none.clone(),
            now.clone(),
            headers.of(entry)?.into_any(),
        ];
        list.append(PyTuple::new(py, arguments)?)?;
    }
    Ok(list)
}

/// The names of a batch's topics, and how many partitions those have that were met.
struct Topics<'py> {
    names: Vec<Bound<'py, PyString>>,
    partitions: Vec<Option<u32>>,
}

impl<'py> Topics<'py> {
    fn new(py: Python<'py>, batch: &batch::EventBatch) -> Self {
        let topics = batch.topics.iter();
        Self {
            names: topics.map(|topic| PyString::new(py, &topic.name)).collect(),
            partitions: vec![None; batch.topics.len()],
        }
    }

    fn name(&self, entry: &EventEntry) -> PyResult<&Bound<'py, PyString>> {
        self.names
            .get(entry.topic as usize)
            .ok_or_else(|| PyIndexError::new_err("an event is of no topic of its batch"))
    }

    fn partitions(&mut self, entry: &EventEntry, ask: &Bound<'py, PyAny>) -> PyResult<Option<u32>> {
        if let Some(Some(known)) = self.partitions.get(entry.topic as usize) {
            return Ok(Some(*known));
        }
        let answer = ask.call1((self.name(entry)?,))?.extract()?;
        if let Some(place) = self.partitions.get_mut(entry.topic as usize) {
            *place = answer;
        }
        Ok(answer)
    }
}
