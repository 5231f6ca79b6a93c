//! CQL types, as far as they determine the serialized form.
//!
//! A type does not record whether it is frozen: nested types always are, and
//! [`crate::schema::Column::multi_cell`] states whether a column is stored cell by cell.

use std::sync::Arc;

/// A CQL type (format notes §6.1 and §6.2).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CqlType {
    Ascii,
    BigInt,
    Blob,
    Boolean,
    Counter,
    Date,
    Decimal,
    Double,
    Duration,
    /// `EmptyType`: the hidden value column of dense compact tables; zero bytes.
    Empty,
    Float,
    Inet,
    Int,
    SmallInt,
    Text,
    Time,
    Timestamp,
    TimeUuid,
    TinyInt,
    Uuid,
    VarInt,
    List(Box<CqlType>),
    Set(Box<CqlType>),
    Map(Box<CqlType>, Box<CqlType>),
    Tuple(Vec<CqlType>),
    Udt(Arc<UserType>),
    Vector(Box<CqlType>, u32),
    /// A class without a CQL name; its values are opaque and variable in length.
    Custom(String),
}

/// A user-defined type with its fields in declaration order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UserType {
    pub keyspace: String,
    pub name: String,
    pub fields: Vec<UserTypeField>,
}

/// One field of a [`UserType`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UserTypeField {
    pub name: String,
    pub cql_type: CqlType,
}

impl CqlType {
    /// Returns the length of a value that is written without a length prefix, or `None` if values
    /// have a prefix (`AbstractType#valueLengthIfFixed`, format notes §6.1).
    ///
    /// `tinyint`, `smallint`, `date` and `time` have a constant size, but still a length prefix.
    pub fn fixed_length(&self) -> Option<usize> {
        match self {
            Self::Empty => Some(0),
            Self::Boolean => Some(1),
            Self::Int | Self::Float => Some(4),
            Self::BigInt | Self::Double | Self::Timestamp => Some(8),
            Self::Uuid | Self::TimeUuid => Some(16),
            Self::Vector(element, dimension) => element
                .fixed_length()
                .and_then(|length| length.checked_mul(*dimension as usize)),
            _ => None,
        }
    }

    /// Whether a column of this type is stored cell by cell if it is not frozen.
    pub fn can_be_multi_cell(&self) -> bool {
        matches!(
            self,
            Self::List(_) | Self::Set(_) | Self::Map(..) | Self::Udt(_)
        )
    }

    /// Returns the types that this type contains directly.
    pub(crate) fn parts(&self) -> Vec<&Self> {
        match self {
            Self::List(element) | Self::Set(element) | Self::Vector(element, _) => vec![element],
            Self::Map(key, value) => vec![key, value],
            Self::Tuple(elements) => elements.iter().collect(),
            Self::Udt(user_type) => user_type.fields.iter().map(|f| &f.cql_type).collect(),
            _ => Vec::new(),
        }
    }

    /// Replaces each type that this type contains directly.
    pub(crate) fn map_parts(&self, mut map: impl FnMut(&Self) -> Self) -> Self {
        let mut boxed = |part: &Self| Box::new(map(part));
        match self {
            Self::List(element) => Self::List(boxed(element)),
            Self::Set(element) => Self::Set(boxed(element)),
            Self::Map(key, value) => Self::Map(boxed(key), boxed(value)),
            Self::Vector(element, dimension) => Self::Vector(boxed(element), *dimension),
            Self::Tuple(elements) => Self::Tuple(elements.iter().map(map).collect()),
            Self::Udt(user_type) => {
                let fields = user_type.fields.iter().map(|field| UserTypeField {
                    name: field.name.clone(),
                    cql_type: map(&field.cql_type),
                });
                Self::Udt(Arc::new(UserType {
                    keyspace: user_type.keyspace.clone(),
                    name: user_type.name.clone(),
                    fields: fields.collect(),
                }))
            }
            native => native.clone(),
        }
    }

    /// Returns the native type for a lower-case CQL name.
    pub(crate) fn from_cql_name(name: &str) -> Option<Self> {
        let name = if name == "varchar" { "text" } else { name };
        Self::find_native(|names| names.0 == name)
    }

    /// Returns the native type for a class name without its package. `DateType`, a legacy
    /// timestamp, and `LexicalUUIDType` serialize values like their successors.
    pub(crate) fn from_class_name(class: &str) -> Option<Self> {
        let class = match class {
            "DateType" => "TimestampType",
            "LexicalUUIDType" => "UUIDType",
            class => class,
        };
        Self::find_native(|names| names.1 == class)
    }

    fn find_native(matches: impl Fn((&str, &str)) -> bool) -> Option<Self> {
        let has_name = |native: &&Self| native.native_names().is_some_and(&matches);
        Self::NATIVE.iter().find(has_name).cloned()
    }
}

/// The table of native types: CQL name (`CQL3Type.Native`) and class in `db.marshal`.
macro_rules! native_types {
    ($($native:ident $name:literal $class:literal,)*) => {
        impl CqlType {
            const NATIVE: &[Self] = &[$(Self::$native),*];

            /// Returns the CQL name of a native type and its class without the package.
            pub fn native_names(&self) -> Option<(&'static str, &'static str)> {
                match self {
                    $(Self::$native => Some(($name, $class)),)*
                    Self::List(_) | Self::Set(_) | Self::Map(..) | Self::Tuple(_) => None,
                    Self::Udt(_) | Self::Vector(..) | Self::Custom(_) => None,
                }
            }
        }
    };
}

native_types! {
    Ascii "ascii" "AsciiType",
    BigInt "bigint" "LongType",
    Blob "blob" "BytesType",
    Boolean "boolean" "BooleanType",
    Counter "counter" "CounterColumnType",
    Date "date" "SimpleDateType",
    Decimal "decimal" "DecimalType",
    Double "double" "DoubleType",
    Duration "duration" "DurationType",
    Empty "empty" "EmptyType",
    Float "float" "FloatType",
    Inet "inet" "InetAddressType",
    Int "int" "Int32Type",
    SmallInt "smallint" "ShortType",
    Text "text" "UTF8Type",
    Time "time" "TimeType",
    TimeUuid "timeuuid" "TimeUUIDType",
    Timestamp "timestamp" "TimestampType",
    TinyInt "tinyint" "ByteType",
    Uuid "uuid" "UUIDType",
    VarInt "varint" "IntegerType",
}
