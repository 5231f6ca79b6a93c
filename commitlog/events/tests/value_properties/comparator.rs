//! `AbstractType#compare` and `ClusteringComparator#compare` of Cassandra 5.0 for values that
//! fit their types, written for plainness.

use std::cmp::Ordering;

use commitlog_core::cql_type::CqlType;

/// One clustering value; `None` is a null.
pub type Value = Option<Vec<u8>>;

/// A clustering column: type and whether it is reversed.
pub type Column = (CqlType, bool);

/// Compares the first columns that both keys have.
pub fn compare_keys(columns: &[Column], left: &[Value], right: &[Value]) -> Ordering {
    for ((ty, reversed), (left, right)) in columns.iter().zip(left.iter().zip(right)) {
        let order = match (left, right) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(left), Some(right)) if *reversed => compare(ty, right, left),
            (Some(left), Some(right)) => compare(ty, left, right),
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

pub fn compare(ty: &CqlType, left: &[u8], right: &[u8]) -> Ordering {
    // Every comparator below puts zero bytes first.
    if left.is_empty() || right.is_empty() {
        return right.is_empty().cmp(&left.is_empty());
    }
    match ty {
        CqlType::Ascii
        | CqlType::Text
        | CqlType::Blob
        | CqlType::Date
        | CqlType::Time
        | CqlType::Inet
        | CqlType::Duration
        | CqlType::Counter
        | CqlType::Custom(_) => left.cmp(right),
        CqlType::Boolean => (left[0] != 0).cmp(&(right[0] != 0)),
        CqlType::TinyInt
        | CqlType::SmallInt
        | CqlType::Int
        | CqlType::BigInt
        | CqlType::Timestamp
        | CqlType::VarInt => compare_integers(left, right),
        CqlType::Decimal => compare_decimals(left, right),
        CqlType::Float => {
            let float = |bytes: &[u8]| f32::from_be_bytes(bytes.try_into().unwrap());
            compare_doubles(f64::from(float(left)), f64::from(float(right)))
        }
        CqlType::Double => {
            let double = |bytes: &[u8]| f64::from_be_bytes(bytes.try_into().unwrap());
            compare_doubles(double(left), double(right))
        }
        CqlType::Uuid => compare_uuids(left, right),
        CqlType::TimeUuid => timestamp(left)
            .cmp(&timestamp(right))
            .then_with(|| signed(&left[8..]).cmp(&signed(&right[8..]))),
        CqlType::Empty => Ordering::Equal,
        CqlType::List(element) | CqlType::Set(element) => {
            compare_elements(&[element], &elements(left), &elements(right))
        }
        CqlType::Map(key, value) => {
            compare_elements(&[key, value], &elements(left), &elements(right))
        }
        CqlType::Tuple(types) => compare_fields(&types.iter().collect::<Vec<_>>(), left, right),
        CqlType::Udt(user_type) => {
            let types: Vec<_> = user_type
                .fields
                .iter()
                .map(|field| &field.cql_type)
                .collect();
            compare_fields(&types, left, right)
        }
        CqlType::Vector(element, _) => {
            let (left, right) = (split(element, left), split(element, right));
            left.iter()
                .zip(&right)
                .map(|(left, right)| compare(element, left, right))
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal)
        }
    }
}

fn is_negative(bytes: &[u8]) -> bool {
    bytes[0] & 0x80 != 0
}

/// Two's complement of any lengths.
fn compare_integers(left: &[u8], right: &[u8]) -> Ordering {
    if is_negative(left) != is_negative(right) {
        return is_negative(right).cmp(&is_negative(left));
    }
    let length = left.len().max(right.len());
    let extended = |bytes: &[u8]| {
        let mut extended = vec![if is_negative(bytes) { 0xff } else { 0 }; length - bytes.len()];
        extended.extend(bytes);
        extended
    };
    extended(left).cmp(&extended(right))
}

/// `BigDecimal#compareTo`, for unscaled values of at most 16 bytes.
fn compare_decimals(left: &[u8], right: &[u8]) -> Ordering {
    let parse = |bytes: &[u8]| {
        let scale = i64::from(i32::from_be_bytes(bytes[..4].try_into().unwrap()));
        let sign = if is_negative(&bytes[4..]) { -1 } else { 0 };
        let unscaled = bytes[4..]
            .iter()
            .fold(sign, |number: i128, byte| number << 8 | i128::from(*byte));
        (unscaled, scale)
    };
    let ((left, left_scale), (right, right_scale)) = (parse(left), parse(right));
    if left.signum() != right.signum() || left == 0 {
        return left.signum().cmp(&right.signum());
    }
    let digits = |number: i128| number.unsigned_abs().to_string();
    let (left_digits, right_digits) = (digits(left), digits(right));
    let left_power = left_digits.len() as i64 - left_scale;
    let right_power = right_digits.len() as i64 - right_scale;
    // As fractions 0.ddd the digits compare from the left, with zeros behind the shorter.
    let length = left_digits.len().max(right_digits.len());
    let order = left_power
        .cmp(&right_power)
        .then_with(|| format!("{left_digits:0<length$}").cmp(&format!("{right_digits:0<length$}")));
    if left < 0 { order.reverse() } else { order }
}

/// `Double#compare`.
fn compare_doubles(left: f64, right: f64) -> Ordering {
    match (left.is_nan(), right.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) if left == right => right.is_sign_negative().cmp(&left.is_sign_negative()),
        (false, false) => left.partial_cmp(&right).unwrap(),
    }
}

fn compare_uuids(left: &[u8], right: &[u8]) -> Ordering {
    let version = |bytes: &[u8]| bytes[6] >> 4;
    let order = version(left).cmp(&version(right));
    if order.is_ne() {
        return order;
    }
    if version(left) == 1 {
        let order = timestamp(left).cmp(&timestamp(right));
        return order.then_with(|| left[8..].cmp(&right[8..]));
    }
    left.cmp(right)
}

/// The time of a version 1 UUID, most significant byte first.
fn timestamp(uuid: &[u8]) -> [u8; 8] {
    [
        uuid[6], uuid[7], uuid[4], uuid[5], uuid[0], uuid[1], uuid[2], uuid[3],
    ]
}

fn signed(bytes: &[u8]) -> Vec<i8> {
    bytes.iter().map(|byte| *byte as i8).collect()
}

/// The parts of a list, set or map; of a map keys and values alternate.
fn elements(bytes: &[u8]) -> Vec<Option<&[u8]>> {
    parts(&bytes[4..])
}

fn parts(mut bytes: &[u8]) -> Vec<Option<&[u8]>> {
    let mut parts = Vec::new();
    while !bytes.is_empty() {
        let length = i32::from_be_bytes(bytes[..4].try_into().unwrap());
        bytes = &bytes[4..];
        if length < 0 {
            parts.push(None);
        } else {
            let (part, rest) = bytes.split_at(length as usize);
            parts.push(Some(part));
            bytes = rest;
        }
    }
    parts
}

fn compare_elements(
    types: &[&CqlType],
    left: &[Option<&[u8]>],
    right: &[Option<&[u8]>],
) -> Ordering {
    for ((left, right), ty) in left.iter().zip(right).zip(types.iter().cycle()) {
        let order = compare(ty, left.unwrap(), right.unwrap());
        if order.is_ne() {
            return order;
        }
    }
    left.len().cmp(&right.len())
}

/// Missing fields are null, and a null is the least.
fn compare_fields(types: &[&CqlType], left: &[u8], right: &[u8]) -> Ordering {
    let (left, right) = (parts(left), parts(right));
    for (index, ty) in types.iter().enumerate() {
        let field =
            |parts: &[Option<&[u8]>]| parts.get(index).copied().flatten().map(<[u8]>::to_vec);
        let order = match (field(&left), field(&right)) {
            (Some(left), Some(right)) => compare(ty, &left, &right),
            (left, right) => left.is_some().cmp(&right.is_some()),
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// Elements of a vector; those of variable length are shorter than 128 bytes here.
fn split<'a>(element: &CqlType, mut bytes: &'a [u8]) -> Vec<&'a [u8]> {
    let mut elements = Vec::new();
    while !bytes.is_empty() {
        let length = element.fixed_length().unwrap_or_else(|| {
            let length = usize::from(bytes[0]);
            assert!(length < 128);
            bytes = &bytes[1..];
            length
        });
        let (head, rest) = bytes.split_at(length);
        elements.push(head);
        bytes = rest;
    }
    elements
}
