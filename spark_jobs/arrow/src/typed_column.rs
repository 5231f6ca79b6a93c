use std::sync::Arc;

use arrow_array::Array;
use arrow_schema::{DataType, Field, FieldRef};
use commitlog_core::cql_type::CqlType;
use commitlog_core::schema;

use crate::Rendering;
use crate::column::{Column, RawElements, column};
use crate::nested_types::holds;

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
        let mut typed = Self {
            name: column.name.clone(),
            multi_cell: column.multi_cell,
            source,
            field: Arc::new(Field::new(&column.name, DataType::Null, true)),
            cql_type,
            rendering,
        };
        // The type of an empty array, which always finishes, is that of every array.
        if let Ok(array) = typed.array().finish() {
            typed.field = Arc::new(Field::new(&column.name, array.data_type().clone(), true));
        }
        typed
    }

    /// Creates an empty array builder for the values.
    pub fn array(&self) -> Box<dyn Column> {
        if self.rendering == Rendering::Raw && self.multi_cell {
            Box::<RawElements>::default()
        } else {
            column(&self.cql_type, self.rendering)
        }
    }

    /// Whether the column's type supports a rendering.
    pub fn allows(&self, rendering: Rendering) -> bool {
        let is_number = |cql_type: &CqlType| matches!(cql_type, CqlType::Decimal | CqlType::VarInt);
        !matches!(rendering, Rendering::Decimal { .. }) || holds(&self.cql_type, &is_number)
    }
}
