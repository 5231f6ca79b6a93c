//! Builds batches of visible rows with raw values: the columns of `Merger.rows`.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, Int32Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, StructArray};
use arrow_buffer::NullBufferBuilder;
use spark_arrow::ListEnds;

use super::elements::{Clusterings, offset};
use super::{Room, nullable};
use crate::columns::Columns;
use crate::content::{Content, ShownCell};
use crate::error::Result;
use crate::evaluation::View;
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
    pub fn is_full(&self) -> bool {
        self.room.is_full()
    }

    pub fn append(
        &mut self,
        view: View<'_>,
        (ck, ckv): (Option<&[u8]>, Option<&[u8]>),
        (row, statics): (&Content, &Content),
    ) -> Result<()> {
        let (pk, store, columns) = (&view.partition.pk, view.store, view.columns);
        let bytes =
            cells_bytes(&row.cells, store).saturating_add(cells_bytes(&statics.cells, store));
        self.room.add_row(bytes.saturating_add(pk.len()))?;
        self.tokens.append_value(view.token);
        self.keys.append_value(pk);
        self.clusterings.append_option(ck);
        self.clustering_values.append(ckv);
        self.markers.append(row.marker);
        self.cells.append(&row.cells, store, columns);
        self.statics.append(&statics.cells, store, columns);
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.room.rows == 0
    }

    /// Takes the rows so far.
    pub fn take(&mut self) -> Result<StructArray> {
        self.room.clear();
        let columns: [(&str, ArrayRef); 7] = [
            ("token", Arc::new(self.tokens.finish())),
            ("pk", Arc::new(self.keys.finish())),
            ("ck", Arc::new(self.clusterings.finish())),
            ("ckv", self.clustering_values.finish()?),
            ("live", self.markers.finish()?),
            ("cells", self.cells.finish()?),
            ("statics", self.statics.finish()?),
        ];
        nullable(columns, None)
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
    fn append(&mut self, marker: Option<Liveness>) {
        let expiry_s = marker.and_then(|marker| marker.expiry_s());
        self.times.append_option(marker.map(|marker| marker.ts_us));
        self.expiries.append_option(expiry_s);
        let ttl_s = marker.map(|marker| marker.ttl_s);
        self.ttls.append_option(ttl_s.filter(|ttl_s| *ttl_s != 0));
        self.nulls.append(marker.is_some());
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let columns: [(&str, ArrayRef); 3] = [
            ("ts", Arc::new(self.times.finish())),
            ("ldt", Arc::new(self.expiries.finish())),
            ("ttl", Arc::new(self.ttls.finish())),
        ];
        Ok(Arc::new(nullable(columns, self.nulls.finish())?))
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
        self.ends.end(offset(self.count), true);
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        self.count = 0;
        let columns: [(&str, ArrayRef); 6] = [
            ("column", Arc::new(self.columns.finish())),
            ("path", Arc::new(self.paths.finish())),
            ("ts", Arc::new(self.times.finish())),
            ("ldt", Arc::new(self.expiries.finish())),
            ("ttl", Arc::new(self.ttls.finish())),
            ("value", Arc::new(self.values.finish())),
        ];
        let items = nullable(columns, None)?;
        Ok(self.ends.finish_lists(Arc::new(items))?)
    }
}
