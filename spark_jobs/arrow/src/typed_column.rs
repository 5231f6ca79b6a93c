use std::sync::Arc;

use arrow_schema::{Field, FieldRef};
use commitlog_core::cql_type::CqlType;
use commitlog_core::schema;

use crate::column::{Column, RawElements, column};
use crate::{Rendering, arrow_type};

/// Which column of a batch contains the bytes of a table column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Own,
    PartitionKey(usize),
    Clustering(usize),
}

/// One column that `SELECT *` shows.
#[derive(Debug)]
pub struct TypedColumn {
    pub name: String,
    pub multi_cell: bool,
    pub source: Source,
    pub field: FieldRef,
    cql_type: CqlType,
    rendering: Rendering,
}

impl TypedColumn {
    pub fn new(column: &schema::Column, rendering: Rendering, source: Source) -> Self {
        // Raw values are passed on as blobs.
        let cql_type = match rendering {
            Rendering::Raw => CqlType::Blob,
            _ => column.cql_type.clone(),
        };
        let data_type = if rendering == Rendering::Raw && column.multi_cell {
            RawElements::data_type()
        } else {
            arrow_type(&cql_type, rendering)
        };
        Self {
            name: column.name.clone(),
            multi_cell: column.multi_cell,
            source,
            field: Arc::new(Field::new(&column.name, data_type, true)),
            cql_type,
            rendering,
        }
    }

    /// Creates an empty array builder for the values.
    pub fn array(&self) -> Box<dyn Column> {
        if self.rendering == Rendering::Raw && self.multi_cell {
            Box::new(RawElements::new())
        } else {
            column(&self.cql_type, self.rendering)
        }
    }

    /// Whether the column's type supports a rendering.
    pub fn allows(&self, rendering: Rendering) -> bool {
        !matches!(rendering, Rendering::Decimal { .. }) || holds_number(&self.cql_type)
    }
}

/// Whether a type is or contains a `decimal` or `varint`.
fn holds_number(cql_type: &CqlType) -> bool {
    match cql_type {
        CqlType::Decimal | CqlType::VarInt => true,
        CqlType::List(element) | CqlType::Set(element) | CqlType::Vector(element, _) => {
            holds_number(element)
        }
        CqlType::Map(key, value) => holds_number(key) || holds_number(value),
        CqlType::Tuple(fields) => fields.iter().any(holds_number),
        CqlType::Udt(user_type) => user_type.fields.iter().any(|f| holds_number(&f.cql_type)),
        _ => false,
    }
}
