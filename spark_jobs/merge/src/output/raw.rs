//! Builds batches of visible rows with raw values: the columns of `Merger.rows`.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, Int32Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, StructArray};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::{DataType, Field, FieldRef, Fields};

use super::Room;
use super::elements::{Clusterings, ListEnds};
use crate::columns::Columns;
use crate::content::{Content, ShownCell};
use crate::error::Result;
use crate::partition::Store;
use crate::version::Liveness;

/// Bytes of a cell in addition to its path and value.
const CELL_BYTES: usize = 40;

#[derive(Debug, Default)]
pub struct RawRows {
    room: Room,
    tokens: Int64Builder,
    keys: BinaryBuilder,
    clusterings: BinaryBuilder,
    clustering_values: Clusterings,
    markers: Markers,
    cells: CellLists,
    statics: CellLists,
}

impl RawRows {
    pub fn fields() -> Fields {
        let cells = DataType::List(CellLists::item());
        Fields::from(vec![
            Field::new("token", DataType::Int64, true),
            Field::new("pk", DataType::Binary, true),
            Field::new("ck", DataType::Binary, true),
            Field::new("ckv", Clusterings::data_type(), true),
            Field::new("live", DataType::Struct(Markers::fields()), true),
            Field::new("cells", cells.clone(), true),
            Field::new("statics", cells, true),
        ])
    }

    pub fn is_full(&self) -> bool {
        self.room.is_full()
    }

    pub fn append(
        &mut self,
        (token, pk): (i64, &[u8]),
        (ck, ckv): (Option<&[u8]>, Option<&[u8]>),
        (row, statics): (&Content, &Content),
        store: &Store,
        columns: &Columns,
    ) -> Result<()> {
        let bytes =
            cells_bytes(&row.cells, store).saturating_add(cells_bytes(&statics.cells, store));
        self.room.add_row(bytes.saturating_add(pk.len()))?;
        self.tokens.append_value(token);
        self.keys.append_value(pk);
        self.clusterings.append_option(ck);
        self.clustering_values.append(ckv);
        self.markers.append(row.marker);
        self.cells.append(&row.cells, store, columns);
        self.statics.append(&statics.cells, store, columns);
        Ok(())
    }

    /// Takes the rows so far; `None` if there are none.
    pub fn take(&mut self) -> Result<Option<StructArray>> {
        if self.room.rows == 0 {
            return Ok(None);
        }
        self.room.clear();
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(self.tokens.finish()),
            Arc::new(self.keys.finish()),
            Arc::new(self.clusterings.finish()),
            self.clustering_values.finish()?,
            self.markers.finish()?,
            self.cells.finish()?,
            self.statics.finish()?,
        ];
        Ok(Some(StructArray::try_new(Self::fields(), arrays, None)?))
    }
}

fn cells_bytes(cells: &[ShownCell], store: &Store) -> usize {
    let bytes = cells.iter().map(|cell| {
        let path = cell.path.map_or(0, |path| store.arena.get(path).len());
        cell.value(store).len() + path + CELL_BYTES
    });
    bytes.sum()
}

/// Row markers; null for a row without a marker.
#[derive(Debug)]
struct Markers {
    times: Int64Builder,
    expiries: Int64Builder,
    ttls: Int32Builder,
    nulls: NullBufferBuilder,
}

impl Default for Markers {
    fn default() -> Self {
        Self {
            times: Int64Builder::new(),
            expiries: Int64Builder::new(),
            ttls: Int32Builder::new(),
            nulls: NullBufferBuilder::new(0),
        }
    }
}

impl Markers {
    fn fields() -> Fields {
        Fields::from(vec![
            Field::new("ts", DataType::Int64, true),
            Field::new("ldt", DataType::Int64, true),
            Field::new("ttl", DataType::Int32, true),
        ])
    }

    fn append(&mut self, marker: Option<Liveness>) {
        let expiry_s = marker.and_then(|marker| marker.expiry_s());
        self.times.append_option(marker.map(|marker| marker.ts_us));
        self.expiries.append_option(expiry_s);
        let ttl_s = marker.map(|marker| marker.ttl_s);
        self.ttls.append_option(ttl_s.filter(|ttl_s| *ttl_s != 0));
        self.nulls.append(marker.is_some());
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(self.times.finish()),
            Arc::new(self.expiries.finish()),
            Arc::new(self.ttls.finish()),
        ];
        let nulls = self.nulls.finish();
        let markers = StructArray::try_new(Self::fields(), arrays, nulls)?;
        Ok(Arc::new(markers))
    }
}

#[derive(Debug, Default)]
struct CellLists {
    columns: StringBuilder,
    paths: BinaryBuilder,
    times: Int64Builder,
    expiries: Int64Builder,
    ttls: Int32Builder,
    values: BinaryBuilder,
    ends: ListEnds,
    count: usize,
}

impl CellLists {
    fn fields() -> Fields {
        Fields::from(vec![
            Field::new("column", DataType::Utf8, true),
            Field::new("path", DataType::Binary, true),
            Field::new("ts", DataType::Int64, true),
            Field::new("ldt", DataType::Int64, true),
            Field::new("ttl", DataType::Int32, true),
            Field::new("value", DataType::Binary, true),
        ])
    }

    fn item() -> FieldRef {
        Arc::new(Field::new(
            "element",
            DataType::Struct(Self::fields()),
            true,
        ))
    }

    fn append(&mut self, cells: &[ShownCell], store: &Store, columns: &Columns) {
        for cell in cells {
            self.columns.append_value(columns.name(cell.column));
            self.paths
                .append_option(cell.path.map(|path| store.arena.get(path)));
            self.times.append_value(cell.ts_us);
            self.expiries.append_option(cell.expiry_s);
            self.ttls.append_option(cell.expiry_s.map(|_| cell.ttl_s));
            self.values.append_value(cell.value(store));
        }
        self.count = self.count.saturating_add(cells.len());
        self.ends.end(self.count, true);
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        self.count = 0;
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(self.columns.finish()),
            Arc::new(self.paths.finish()),
            Arc::new(self.times.finish()),
            Arc::new(self.expiries.finish()),
            Arc::new(self.ttls.finish()),
            Arc::new(self.values.finish()),
        ];
        let items = StructArray::try_new(Self::fields(), arrays, None)?;
        self.ends.finish(Self::item(), Arc::new(items))
    }
}
