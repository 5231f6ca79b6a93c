//! Encodes one event again and again: `encode ROUNDS LAYOUT EVENT.bson`, for profilers and for counting
//! instructions. `LAYOUT` is `debezium-3`, `debezium-2.1`, `debezium-1.x` or `mongodb`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_precision_loss
)]

use std::process::ExitCode;

use commitlog_mongo::encoder::Encoder;
use commitlog_mongo::format::{EventFormat, Layout};

const BATCH: usize = 1000;
/// In a round: a shorter one ends before the clock has moved.
const BATCHES: usize = 200;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [rounds, layout, event] = words.as_slice() else {
        eprintln!("usage: encode ROUNDS LAYOUT EVENT.bson");
        return ExitCode::from(2);
    };
    match run(rounds.parse().unwrap_or(1), layout, event) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(rounds: u32, layout: &str, event: &str) -> Result<(), String> {
    let bytes = std::fs::read(event).map_err(|error| format!("{event}: {error}"))?;
    let layout = Layout::named(layout).ok_or_else(|| format!("{layout} is no layout"))?;
    let encoder = Encoder::new(EventFormat {
        topic_prefix: "shop".to_owned(),
        layout,
        ..EventFormat::default()
    });
    for _ in 0..rounds {
        let start_ns = cpu_ns()?;
        let mut written_bytes = 0;
        for _ in 0..BATCHES {
            let batch = encoder.encode(std::iter::repeat_n(bytes.as_slice(), BATCH), 0);
            if let Some(refused) = batch.refused.first() {
                return Err(format!("{event}: {}", refused.error));
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

/// Time that this thread had a processor.
fn cpu_ns() -> Result<u64, String> {
    let file = "/proc/thread-self/schedstat";
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let first = text.split_whitespace().next().unwrap_or_default();
    first.parse().map_err(|error| format!("{file}: {error}"))
}
