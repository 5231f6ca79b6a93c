//! Converts messages to the Python objects that a Kafka client accepts.

use event_encoding::messages::{
    ID_HEADER, KIND_HEADER, Message, Messages, SOURCE_HEADER, TIME_HEADER,
};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

/// Creates the headers of events; objects that events share are created once.
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
        let name = &PyString::intern(py, KIND_HEADER);
        let kinds = M::kinds().map(|kind| header(py, name, kind.as_bytes()));
        Ok(Self {
            py,
            id: PyString::intern(py, ID_HEADER),
            source: PyString::intern(py, SOURCE_HEADER),
            time: PyString::intern(py, TIME_HEADER),
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

/// Returns tuples of topic, key, value, headers and partition hash.
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

/// Returns the arguments of calls to `confluent_kafka.Producer.produce` in order: topic, value,
/// key, partition, callback, the callback's alias, timestamp and headers.
///
/// `partitions` is called once for each topic and returns its number of partitions. If it returns
/// None, the list ends before the topic's first event.
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
        let partition = batch.partition(index, &message, count);
        let time = match batch.timestamp_ms(index) {
            Some(millis) => millis.into_pyobject(py)?.into_any(),
            None => now.clone(),
        };
        let arguments = [
            topics.name(message.topic)?.clone().into_any(),
            bytes_or_none(py, message.value),
            PyBytes::new(py, message.key).into_any(),
            partition.into_pyobject(py)?.into_any(),
            on_delivery.clone(),
            none.clone(),
            time,
            headers.make(batch, (index, entry), &message)?.into_any(),
        ];
        list.append(PyTuple::new(py, arguments)?)?;
    }
    Ok(list)
}

fn bytes_or_none<'py>(py: Python<'py>, bytes: Option<&[u8]>) -> Bound<'py, PyAny> {
    match bytes {
        Some(bytes) => PyBytes::new(py, bytes).into_any(),
        None => py.None().into_bound(py),
    }
}

/// The names of a batch's topics, and the known numbers of partitions.
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
