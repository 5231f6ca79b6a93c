//! `every_bit FRAMING…`: flips every bit of a segment in each framing.
//!
//! Prints `FRAMING done BITS of BITS` as progress, and `FRAMING failed bit BIT: WHY` for each
//! failure. The exit code is 1 after a failure.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use commitlog_fuzz::every_bit::Specimen;
use commitlog_fuzz::framing::FRAMINGS;

/// Bits between two lines of progress.
const TOLD_BITS: usize = 2048;

fn main() -> io::Result<ExitCode> {
    let mut out = io::stdout().lock();
    let mut failures = 0;
    for name in std::env::args().skip(1) {
        let made = FRAMINGS
            .into_iter()
            .find(|framing| framing.name() == name)
            .ok_or_else(|| "no such framing".to_owned())
            .and_then(Specimen::new);
        let specimen = match made {
            Ok(specimen) => specimen,
            Err(error) => {
                writeln!(out, "{name} failed before any bit: {error}")?;
                failures += 1;
                continue;
            }
        };
        let bits = specimen.bits();
        for bit in 0..bits {
            let checked = catch_unwind(AssertUnwindSafe(|| specimen.check(bit)));
            if let Err(why) = checked.unwrap_or_else(|_| Err("it panicked, see above".to_owned())) {
                writeln!(out, "{name} failed bit {bit}: {why}")?;
                failures += 1;
            }
            if (bit + 1) % TOLD_BITS == 0 {
                writeln!(out, "{name} done {} of {bits}", bit + 1)?;
                out.flush()?;
            }
        }
        writeln!(out, "{name} done {bits} of {bits}")?;
    }
    Ok(ExitCode::from(u8::from(failures > 0)))
}
