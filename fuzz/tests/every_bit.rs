//! Flipped bits of every framing.

use commitlog_fuzz::every_bit::Specimen;
use commitlog_fuzz::framing::FRAMINGS;

/// Distance between flipped bits: primes, so that every bit of a byte is flipped.
const STEP: usize = 16_411;
const MARKER_STEP: usize = 7;

#[test]
fn one_flipped_bit_of_any_framing_is_handled() {
    for framing in FRAMINGS {
        let specimen = Specimen::new(framing).unwrap();
        let every_so_often = (0..specimen.bits()).step_by(STEP);
        for bit in specimen
            .marker_bits()
            .step_by(MARKER_STEP)
            .chain(every_so_often)
        {
            if let Err(why) = specimen.check(bit) {
                panic!("{framing:?}, bit {bit} (byte {}): {why}", bit / 8);
            }
        }
    }
}
