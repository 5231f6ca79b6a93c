//! Reads segments repeatedly, for profilers and instruction counts:
//! `read MODE ROUNDS SCHEMA.CQL SEGMENT…`.
//!
//! `MODE` is `records` (checksums only), `scan` (decodes every cell), `events` (JSON without
//! `cells`), `cells` (JSON with `cells`), `avro` (Avro with `cells`) or `skip` (no events).

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_precision_loss
)]

use std::fs::File;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use commitlog_core::mutation::Decoder;
use commitlog_core::row::Row;
use commitlog_core::scan::Scan;
use commitlog_core::schema::{Schema, parse_cql};
use commitlog_core::segment::{Fill, SegmentReader};
use commitlog_events::batch::Stop;
use commitlog_events::format::{EventFormat, TableFilter};
use commitlog_events::reader::{EventReader, ReadRequest};
use event_encoding::encoding::Encoding;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [mode, rounds, schema, segments @ ..] = words.as_slice() else {
        eprintln!("usage: read records|scan|events|cells|avro|skip ROUNDS SCHEMA.CQL SEGMENT…");
        return ExitCode::from(2);
    };
    match run(mode, rounds.parse().unwrap_or(1), schema, segments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(mode: &str, rounds: u32, schema: &str, segments: &[String]) -> Result<(), String> {
    let text = std::fs::read_to_string(schema).map_err(|error| format!("{schema}: {error}"))?;
    let schema = Arc::new(parse_cql(&text).map_err(|error| error.to_string())?);
    for _ in 0..rounds {
        let start_ns = cpu_ns()?;
        let (mut mutations, mut payload_bytes) = (0, 0);
        for segment in segments {
            let (read, bytes) = match mode {
                "records" => records(segment)?,
                "scan" => scan(segment, &schema)?,
                "events" => events(segment, &schema, &format(false, &[])?)?,
                "cells" => events(segment, &schema, &format(true, &[])?)?,
                "avro" => events(segment, &schema, &avro()?)?,
                "skip" => events(segment, &schema, &format(true, &["none"])?)?,
                _ => return Err(format!("unknown mode {mode}")),
            };
            mutations += read;
            payload_bytes += bytes;
        }
        let ns = (cpu_ns()? - start_ns) as f64;
        println!(
            "{mode}: {mutations} mutations, {:.1} ns of CPU time each, {:.0} MB/s",
            ns / mutations.max(1) as f64,
            payload_bytes as f64 * 1000.0 / ns
        );
    }
    Ok(())
}

/// Returns the CPU time of this thread in nanoseconds.
fn cpu_ns() -> Result<u64, String> {
    let file = "/proc/thread-self/schedstat";
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let first = text.split_whitespace().next().unwrap_or_default();
    first.parse().map_err(|error| format!("{file}: {error}"))
}

fn open(segment: &str) -> Result<SegmentReader<File>, String> {
    let file = File::open(segment).map_err(|error| format!("{segment}: {error}"))?;
    let name = Path::new(segment).file_name().unwrap_or_default();
    SegmentReader::open(&name.to_string_lossy(), file, 0).map_err(|error| error.to_string())
}

fn records(segment: &str) -> Result<(u64, u64), String> {
    let mut segment = open(segment)?;
    let (mut records, mut bytes) = (0, 0);
    while let Fill::Records | Fill::Gap(_) = fill(&mut segment)? {
        let mut end = segment.position();
        for record in segment.records() {
            records += 1;
            bytes += record.payload.len() as u64;
            end = record.end;
        }
        segment.consume(end);
    }
    Ok((records, bytes))
}

fn fill(segment: &mut SegmentReader<File>) -> Result<Fill, String> {
    segment.fill(None, true).map_err(|error| error.to_string())
}

fn scan(segment: &str, schema: &Arc<Schema>) -> Result<(u64, u64), String> {
    let mut segment = open(segment)?;
    let version = segment.descriptor().version;
    let mut decoder = Decoder::new(Arc::clone(schema));
    let mut scan = Scan::default();
    while let Fill::Records | Fill::Gap(_) = fill(&mut segment)? {
        let mut end = segment.position();
        let mut row = Row::default();
        for record in segment.records() {
            end = record.end;
            scan.visit(&mut decoder, version, record.payload, &mut row)
                .map_err(|error| error.to_string())?;
        }
        segment.consume(end);
    }
    Ok((scan.mutations, scan.payload_bytes))
}

fn format(cells: bool, include: &[&str]) -> Result<Arc<EventFormat>, String> {
    Ok(Arc::new(EventFormat {
        topic_prefix: "cass".to_owned(),
        connector_version: "0.2.0".to_owned(),
        cluster: "cluster".to_owned(),
        node_id: "550e8400-e29b-41d4-a716-446655440000".to_owned(),
        cells,
        tables: TableFilter::new(include.iter().copied(), [], include.is_empty())?,
        ..EventFormat::default()
    }))
}

fn avro() -> Result<Arc<EventFormat>, String> {
    let mut format = EventFormat::clone(&*format(true, &[])?);
    format.key = Encoding::Avro;
    format.value = Encoding::Avro;
    Ok(Arc::new(format))
}

fn events(
    segment: &str,
    schema: &Arc<Schema>,
    format: &Arc<EventFormat>,
) -> Result<(u64, u64), String> {
    let length = std::fs::metadata(segment).map_or(0, |metadata| metadata.len());
    let mut segment = open(segment)?;
    let mut reader = EventReader::new(Arc::clone(schema), Arc::clone(format));
    let request = ReadRequest {
        abandoned: Vec::new(),
        announced: None,
        limit: None,
        complete: true,
        expected_end: 0,
        completed_at: 0,
        max_events: 5000,
        max_bytes: 1 << 20,
        now_ms: 0,
    };
    let mut mutations = 0;
    loop {
        let batch = reader
            .read(&mut segment, &request, None)
            .map_err(|error| error.to_string())?;
        mutations += batch.mutations;
        match batch.stop {
            Stop::Full | Stop::Schema => {}
            Stop::End => return Ok((mutations, length)),
            Stop::Blocked => {
                let schemas = batch.blocked.clone().map(|blocked| blocked.unregistered);
                let schemas = schemas.unwrap_or_default();
                if schemas.is_empty() {
                    return Err(format!("{:?}", batch.blocked));
                }
                for (id, schema) in (1..).zip(schemas) {
                    format.schema_ids.set(&schema, id);
                }
            }
        }
    }
}
