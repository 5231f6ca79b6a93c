use proptest::prelude::*;

use super::*;
use crate::value::Problem;

fn decimal_bytes(scale: i32, unscaled: i128) -> Vec<u8> {
    let mut bytes = scale.to_be_bytes().to_vec();
    bytes.extend(unscaled.to_be_bytes());
    bytes
}

fn plain(bytes: &[u8]) -> Result<String, ValueError> {
    let mut out = Vec::new();
    Decimal::parse(bytes)?.write_plain(&mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

fn scientific(scale: i32, unscaled: i128) -> String {
    let mut out = Vec::new();
    let bytes = decimal_bytes(scale, unscaled);
    let decimal = Decimal::parse(&bytes).unwrap();
    decimal.write_java(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn double(bytes: &[u8]) -> f64 {
    let mut scratch = b"kept".to_vec();
    let double = Decimal::parse(bytes).unwrap().to_f64(&mut scratch).unwrap();
    assert_eq!(scratch, b"kept");
    double
}

#[test]
fn decimals_are_written_as_plain_text() {
    let cases = [
        (0, 0, "0"),
        (3, 0, "0.000"),
        (-3, 0, "0"),
        (4, 123_456_789, "12345.6789"),
        (4, -5, "-0.0005"),
        (1, -15, "-1.5"),
        (2, 12, "0.12"),
        (-2, 12, "1200"),
        (0, i128::MIN, "-170141183460469231731687303715884105728"),
    ];
    for (scale, unscaled, text) in cases {
        assert_eq!(plain(&decimal_bytes(scale, unscaled)).unwrap(), text);
    }
}

#[test]
fn plain_text_is_bounded() {
    for scale in [i32::MIN, -100_000, 100_000, i32::MAX] {
        let error = plain(&decimal_bytes(scale, 1)).unwrap_err();
        assert!(matches!(error.problem(), Problem::Digits { .. }), "{error}");
    }
    assert_eq!(plain(&decimal_bytes(99_999, 1)).unwrap().len(), 100_001);
    assert_eq!(plain(&decimal_bytes(-99_999, 1)).unwrap().len(), 100_000);
    let mut huge = vec![0; 4];
    huge.resize(1 << 20, 0x55);
    assert!(plain(&huge).is_err());
}

#[test]
fn scientific_text_matches_java() {
    assert_eq!(scientific(2, 12345), "123.45");
    assert_eq!(scientific(7, -10), "-0.0000010");
    assert_eq!(scientific(8, -10), "-1.0E-7");
    assert_eq!(scientific(-2, 12), "1.2E+3");
    assert_eq!(scientific(-3, 0), "0E+3");
    assert_eq!(scientific(3, 0), "0.000");
    assert_eq!(scientific(i32::MIN, 12345), "1.2345E+2147483652");
    assert_eq!(scientific(i32::MAX, -1), "-1E-2147483647");
}

#[test]
fn extreme_scales_become_doubles() {
    assert_eq!(double(&decimal_bytes(i32::MIN, 1)), f64::INFINITY);
    assert_eq!(double(&decimal_bytes(i32::MIN, -1)), f64::NEG_INFINITY);
    assert_eq!(double(&decimal_bytes(i32::MAX, 1)), 0.0);
    assert_eq!(double(&decimal_bytes(i32::MIN, 0)), 0.0);
    assert_eq!(double(&decimal_bytes(4, 123_456_789)), 12345.6789);
    assert_eq!(
        double(&decimal_bytes(0, (1 << 53) + 1)),
        9_007_199_254_740_992.0
    );
}

#[test]
fn long_values_become_doubles() {
    let mut long = 2500_i32.to_be_bytes().to_vec();
    long.resize(4 + 1040, 0x5a);
    let mut longer = 25_000_i32.to_be_bytes().to_vec();
    longer.resize(4 + 10_400, 0x5a);
    for bytes in [long, longer] {
        let mut digits = Vec::new();
        let decimal = Decimal::parse(&bytes).unwrap();
        decimal.unscaled.write_text(&mut digits);
        let text = format!("{}e-{}", String::from_utf8(digits).unwrap(), decimal.scale);
        assert_eq!(double(&bytes), text.parse::<f64>().unwrap());
    }
}

#[test]
fn doubles_are_bounded() {
    let mut huge = vec![0; 4];
    huge.resize(1 << 20, 0x55);
    assert_eq!(double(&huge), f64::INFINITY);
    huge[..4].copy_from_slice(&i32::MAX.to_be_bytes());
    assert_eq!(double(&huge), 0.0);
    huge[..4].copy_from_slice(&2_525_000_i32.to_be_bytes());
    let mut scratch = b"kept".to_vec();
    let error = Decimal::parse(&huge)
        .unwrap()
        .to_f64(&mut scratch)
        .unwrap_err();
    assert!(matches!(error.problem(), Problem::Digits { .. }), "{error}");
    assert_eq!(scratch, b"kept");
}

#[test]
fn too_few_bytes_are_rejected() {
    for length in 0..5 {
        assert!(Decimal::parse(&[0; 5][..length]).is_err());
    }
}

#[test]
fn integers_of_any_length_are_written() {
    let text = |bytes: &[u8]| {
        let mut out = Vec::new();
        Integer::new(bytes).write_text(&mut out);
        String::from_utf8(out).unwrap()
    };
    let number = 123_456_789_012_345_678_901_234_567_890_i128;
    assert_eq!(text(&number.to_be_bytes()), number.to_string());
    assert_eq!(text(&[]), "0");
    assert_eq!(text(&[0xff, 0xff, 0x80]), "-128");
    let mut power = vec![0; 33];
    power[0] = 1;
    let digits = "115792089237316195423570985008687907853269984665640564039457584007913129639936";
    assert_eq!(text(&power), digits);
    power[0] = 0xff;
    assert_eq!(text(&power), format!("-{digits}"));
    assert_eq!(
        Integer::new(&number.to_be_bytes()).low_i64(),
        -4_362_896_299_872_285_998
    );
}

proptest! {
    #[test]
    fn decimal_becomes_nearest_double(unscaled: i128, scale in -400_i32..400) {
        let expected: f64 = format!("{unscaled}e{}", -scale).parse().unwrap();
        prop_assert_eq!(double(&decimal_bytes(scale, unscaled)), expected);
    }

    #[test]
    fn small_decimal_becomes_nearest_double(
        unscaled in -1_000_000_000_i128..1_000_000_000,
        scale in -25_i32..25,
    ) {
        let expected: f64 = format!("{unscaled}e{}", -scale).parse().unwrap();
        prop_assert_eq!(double(&decimal_bytes(scale, unscaled)), expected);
    }

    #[test]
    fn long_digits_agree_with_short_ones(high: u64, low in 0_u64..1_000_000_000_000_000_000) {
        // high × 10^18 + low, with leading zero bytes to select the path for long numbers.
        let number = i128::from(high) * 1_000_000_000_000_000_000 + i128::from(low);
        let mut out = Vec::new();
        super::integer::write_long(&mut out, &number.to_be_bytes());
        prop_assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
    }
}
