//! `encode ROUNDS LAYOUT ENCODING EVENT.bson` encodes one event repeatedly, for profilers. `LAYOUT`
//! is `debezium-3`, `debezium-2.1`, `debezium-1.x` or `mongodb`; `ENCODING` of key and value is
//! `json`, `json_with_schema` or `avro`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_precision_loss
)]

use std::convert::Infallible;
use std::process::ExitCode;
use std::sync::Arc;

use event_encoding::schema_ids::SchemaIds;
use mongo_encoder::encoder::Encoder;
use mongo_encoder::format::{Encoding, EventFormat, Layout};

const BATCH: usize = 1000;
/// Batches per round; the CPU clock would not advance in a shorter round.
const BATCHES: usize = 200;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [rounds, layout, encoding, event] = words.as_slice() else {
        eprintln!("usage: encode ROUNDS LAYOUT ENCODING EVENT.bson");
        return ExitCode::from(2);
    };
    match run(rounds.parse().unwrap_or(1), layout, encoding, event) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(rounds: u32, layout: &str, encoding: &str, event: &str) -> Result<(), String> {
    let bytes = std::fs::read(event).map_err(|error| format!("{event}: {error}"))?;
    let known = Layout::NAMES.iter().find(|(name, _)| *name == layout);
    let (_, layout) = *known.ok_or_else(|| format!("{layout} is not a layout"))?;
    let encoding = match encoding {
        "json" => Encoding::Json,
        "json_with_schema" => Encoding::JsonWithSchema,
        "avro" => Encoding::Avro,
        other => return Err(format!("{other} is not an encoding")),
    };
    let ids = Arc::new(SchemaIds::default());
    let encoder = Encoder::new(EventFormat {
        topic_prefix: "shop".to_owned(),
        layout,
        key: encoding,
        value: encoding,
        schema_ids: Arc::clone(&ids),
        ..EventFormat::default()
    });
    let mut capture_all = |_: &[u8], _: &[u8]| Ok::<_, Infallible>(true);
    let Ok(first) = encoder.encode([bytes.as_slice()], None, 0, &mut capture_all);
    for (id, schema) in (1..).zip(first.unregistered) {
        ids.set(&schema, id);
    }
    for _ in 0..rounds {
        let start_ns = cpu_ns()?;
        let mut written_bytes = 0;
        for _ in 0..BATCHES {
            let events = std::iter::repeat_n(bytes.as_slice(), BATCH);
            let Ok(batch) = encoder.encode(events, None, 0, &mut capture_all);
            if let Some(rejected) = batch.failures.first() {
                return Err(format!("{event}: {}", rejected.error));
            }
            written_bytes += batch.size_bytes();
        }
        let ns = (cpu_ns()? - start_ns) as f64;
        let events = BATCH * BATCHES;
        println!(
            "{} bytes of BSON to {} bytes: {:.0} ns of CPU time an event, {:.0} MB/s of BSON",
            bytes.len(),
            written_bytes / events,
            ns / events as f64,
            (bytes.len() * events) as f64 * 1000.0 / ns
        );
    }
    Ok(())
}

/// Returns the CPU time of this thread.
fn cpu_ns() -> Result<u64, String> {
    let file = "/proc/thread-self/schedstat";
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let first = text.split_whitespace().next().unwrap_or_default();
    first.parse().map_err(|error| format!("{file}: {error}"))
}
