//! The text of a write time, which stands in an event again and again.

/// Longest text of a 64-bit number.
const MAX_DIGITS: usize = 20;
/// Of times between 2001 and 2286; a copy of so many bytes is no call.
const USUAL_DIGITS: usize = 16;

/// Digits that are written anew when the ones in front stay.
const LOW_DIGITS: usize = 8;
const LOW_RANGE: i64 = 100_000_000;

/// Remembers the text of the time that was written last; times in microseconds.
pub struct TimeText {
    us: i64,
    text: [u8; MAX_DIGITS],
    length: usize,
}

impl Default for TimeText {
    fn default() -> Self {
        let mut time = Self {
            us: 0,
            text: [0; MAX_DIGITS],
            length: 0,
        };
        time.format(0);
        time
    }
}

impl TimeText {
    /// Appends a time in microseconds.
    #[inline]
    pub fn write_us(&mut self, out: &mut Vec<u8>, us: i64) {
        let text = self.text(us);
        match usual(text) {
            Some(text) => out.extend_from_slice(text),
            None => out.extend_from_slice(text),
        }
    }

    /// Appends a time in milliseconds, rounded down.
    #[inline]
    pub fn write_ms(&mut self, out: &mut Vec<u8>, us: i64) {
        let text = self.text(us);
        // The digits of a positive time need only be cut.
        match (usual(text), text) {
            (Some([ms @ .., _, _, _]), _) if us > 0 => out.extend_from_slice(ms),
            (_, [ms @ .., _, _, _]) if us >= 1000 => out.extend_from_slice(ms),
            _ => write_number(out, us.div_euclid(1000)),
        }
    }

    /// Appends a time in nanoseconds; `null` where it does not fit 64 bits.
    pub fn write_ns(&mut self, out: &mut Vec<u8>, us: i64) {
        match us.checked_mul(1000) {
            Some(0) => out.push(b'0'),
            Some(_) => {
                self.write_us(out, us);
                out.extend_from_slice(b"000");
            }
            None => out.extend_from_slice(b"null"),
        }
    }

    #[inline]
    fn text(&mut self, us: i64) -> &[u8] {
        if us != self.us {
            self.format(us);
        }
        self.text.get(..self.length).unwrap_or_default()
    }

    fn format(&mut self, us: i64) {
        // Times that follow one another often differ in their last digits only.
        let high = us / LOW_RANGE;
        if us > LOW_RANGE
            && high == self.us / LOW_RANGE
            && let Some(low) = self.text.get_mut(..self.length)
            && let Some(low) = low.last_chunk_mut::<LOW_DIGITS>()
        {
            write_low(low, (us - high * LOW_RANGE) as u32);
            self.us = us;
            return;
        }
        let mut buffer = itoa::Buffer::new();
        let text = buffer.format(us).as_bytes();
        if let Some(target) = self.text.get_mut(..text.len()) {
            target.copy_from_slice(text);
        }
        self.us = us;
        self.length = text.len();
    }
}

#[inline]
fn usual(text: &[u8]) -> Option<&[u8; USUAL_DIGITS]> {
    text.try_into().ok()
}

/// Writes a number of eight digits, with zeros in front.
fn write_low(text: &mut [u8; LOW_DIGITS], number: u32) {
    let (high, low) = (number / 10_000, number % 10_000);
    let pairs = [high / 100, high % 100, low / 100, low % 100];
    let (places, _) = text.as_chunks_mut::<2>();
    for (place, pair) in places.iter_mut().zip(pairs) {
        *place = [b'0' + (pair / 10) as u8, b'0' + (pair % 10) as u8];
    }
}

fn write_number(out: &mut Vec<u8>, number: i64) {
    let mut buffer = itoa::Buffer::new();
    out.extend_from_slice(buffer.format(number).as_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn writes_what_numbers_say(
            times in proptest::collection::vec(
                prop_oneof![
                    any::<i64>(),
                    -2_000_i64..2_000,
                    99_999_000_i64..200_001_000,
                    1_600_000_000_000_000_i64..1_800_000_000_000_000,
                    1_600_000_000_000_000_i64..1_600_000_300_000_000,
                ],
                1..9,
            ),
        ) {
            let mut time = TimeText::default();
            for us in times {
                let (mut out, ms) = (Vec::new(), us.div_euclid(1000));
                time.write_ms(&mut out, us);
                out.push(b' ');
                time.write_us(&mut out, us);
                out.push(b' ');
                time.write_ns(&mut out, us);
                let ns = us.checked_mul(1000).map_or("null".to_owned(), |ns| ns.to_string());
                prop_assert_eq!(String::from_utf8_lossy(&out), format!("{ms} {us} {ns}"));
            }
        }
    }
}
