//! CQL types as the bytes know them.
//!
//! Frozenness is no part of a type here: inside another type everything is frozen, and for a column
//! [`crate::schema::Column::multi_cell`] is whether the column is stored cell by cell.

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
    /// A class that CQL has no name for; its bytes are opaque and variable in length.
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
    /// Bytes of a value that is written without a length prefix, or `None` when a length
    /// precedes it (`AbstractType#valueLengthIfFixed`, format notes §6.1).
    ///
    /// `tinyint`, `smallint`, `date` and `time` have a constant size and a length prefix all
    /// the same.
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

    /// Whether the type can be stored cell by cell when it is not frozen.
    pub fn can_be_multi_cell(&self) -> bool {
        matches!(
            self,
            Self::List(_) | Self::Set(_) | Self::Map(..) | Self::Udt(_)
        )
    }
}
