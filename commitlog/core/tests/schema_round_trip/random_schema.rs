//! Random tables, views and user types.

use std::sync::Arc;

use commitlog_core::cql_type::{CqlType, UserType, UserTypeField};
use commitlog_core::schema::{
    Column, ColumnHistory, ColumnKind, Observed, Schema, Table, TableId, TableKind,
};
use proptest::prelude::*;
use proptest::sample::Index;

/// A schema, with what only its printed form knows.
#[derive(Debug, Clone)]
pub struct RandomSchema {
    pub types: Vec<Arc<UserType>>,
    pub tables: Vec<RandomTable>,
}

#[derive(Debug, Clone)]
pub struct RandomTable {
    pub table: Table,
    /// For a view its base table, which comes before it.
    pub base: Option<Table>,
    /// Columns that are dropped and live again: name, type, frozen or not, kind and drop time.
    pub readded: Vec<Column>,
}

impl RandomSchema {
    pub fn schema(&self) -> Schema {
        Schema::new(self.tables.iter().map(|random| random.table.clone()))
    }
}

/// Names with quotes, blanks, line ends, capitals, words of CQL and letters beyond ASCII.
pub fn any_name() -> BoxedStrategy<String> {
    prop_oneof![
        4 => "[a-z][a-z0-9_]{0,8}",
        1 => prop::sample::select(vec![
            "primary", "key", "static", "select", "frozen", "list", "int", "with", "and", "id", "cdc",
        ]).prop_map(str::to_owned),
        2 => "[A-Za-z0-9 \"'_.;,()<>$*/\n-]{1,8}",
        1 => "\\PC{1,6}",
    ]
    .boxed()
}

/// Names that all differ, in any order.
fn names(count: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<String>> {
    prop::collection::btree_set(any_name(), count)
        .prop_map(|names| names.into_iter().collect::<Vec<_>>())
        .prop_shuffle()
}

fn any_native() -> impl Strategy<Value = CqlType> {
    prop::sample::select(vec![
        CqlType::Ascii,
        CqlType::BigInt,
        CqlType::Blob,
        CqlType::Boolean,
        CqlType::Date,
        CqlType::Decimal,
        CqlType::Double,
        CqlType::Duration,
        CqlType::Float,
        CqlType::Inet,
        CqlType::Int,
        CqlType::SmallInt,
        CqlType::Text,
        CqlType::Time,
        CqlType::Timestamp,
        CqlType::TimeUuid,
        CqlType::TinyInt,
        CqlType::Uuid,
        CqlType::VarInt,
        CqlType::Custom("org.apache.cassandra.db.marshal.CompositeType(a,b)".to_owned()),
    ])
}

/// A type over native ones and these user types.
fn any_type(types: Vec<Arc<UserType>>) -> BoxedStrategy<CqlType> {
    let leaf = if types.is_empty() {
        any_native().boxed()
    } else {
        let user_type = prop::sample::select(types).prop_map(CqlType::Udt);
        prop_oneof![3 => any_native(), 1 => user_type].boxed()
    };
    leaf.prop_recursive(3, 12, 4, |inner| {
        let inner = inner.boxed();
        prop_oneof![
            inner.clone().prop_map(|t| CqlType::List(Box::new(t))),
            inner.clone().prop_map(|t| CqlType::Set(Box::new(t))),
            (inner.clone(), inner.clone())
                .prop_map(|(key, value)| CqlType::Map(Box::new(key), Box::new(value))),
            prop::collection::vec(inner.clone(), 1..4).prop_map(CqlType::Tuple),
            (inner, 1_u32..2000).prop_map(|(t, n)| CqlType::Vector(Box::new(t), n)),
        ]
    })
    .boxed()
}

/// A type with whether it is stored cell by cell.
pub fn any_column_type() -> impl Strategy<Value = (CqlType, bool)> {
    any_types(1..3).prop_flat_map(|types| {
        (any_type(types), any::<bool>()).prop_map(|(cql_type, free)| {
            let multi_cell = free && cql_type.can_be_multi_cell();
            (cql_type, multi_cell)
        })
    })
}

/// User types of one keyspace; each may use those before it.
fn any_types(
    count: impl Into<prop::collection::SizeRange>,
) -> impl Strategy<Value = Vec<Arc<UserType>>> {
    let fields = prop::collection::vec((any_name(), any_type(Vec::new()), any::<Index>()), 1..4);
    let declarations = names(count).prop_flat_map(move |names| {
        let fields = prop::collection::vec(fields.clone(), names.len());
        (Just(names), fields)
    });
    declarations.prop_map(|(names, fields)| {
        let mut types: Vec<Arc<UserType>> = Vec::new();
        for (name, fields) in names.into_iter().zip(fields) {
            let fields = fields.into_iter().map(|(name, native, earlier)| {
                // Index 0 keeps the type; the others stand for an earlier user type.
                let cql_type = match earlier.index(types.len() + 1).checked_sub(1) {
                    Some(place) => CqlType::Udt(Arc::clone(&types[place])),
                    None => native,
                };
                UserTypeField { name, cql_type }
            });
            types.push(Arc::new(UserType {
                keyspace: "ks".to_owned(),
                name,
                fields: fields.collect(),
            }));
        }
        types
    })
}

pub fn any_schema() -> impl Strategy<Value = RandomSchema> {
    any_types(0..4).prop_flat_map(|types| {
        let tables = prop::collection::vec(any_table(types.clone()), 0..4);
        tables.prop_map(move |random| {
            let mut tables: Vec<RandomTable> = Vec::new();
            for (number, (table, view)) in random.into_iter().enumerate() {
                let mut table = table;
                table.table.id.0[0] = u8::try_from(number).unwrap();
                table.table.name.push_str(&number.to_string());
                let base = table.table.clone();
                tables.push(table);
                tables.extend(view.map(|choice| view_of(base, &choice)));
            }
            RandomSchema {
                types: types.clone(),
                tables,
            }
        })
    })
}

/// What a view takes from its base: the id, an order of all key columns, which are reversed, and
/// which columns stay.
#[derive(Debug, Clone)]
struct ViewChoice {
    id: [u8; 16],
    cdc: bool,
    rotate: Index,
    partition_columns: Index,
    bits: u64,
}

fn any_table(
    types: Vec<Arc<UserType>>,
) -> impl Strategy<Value = (RandomTable, Option<ViewChoice>)> {
    let column = (
        any_type(types),
        any::<bool>(),
        any::<bool>(),
        0..8_u8,
        any::<i64>(),
    );
    let columns = names(1..9).prop_flat_map(move |names| {
        let columns = prop::collection::vec(column.clone(), names.len());
        (Just(names), columns)
    });
    let head = (any::<[u8; 16]>(), any_name(), any::<bool>());
    let keys = (1_usize..3, 0_usize..4);
    let view = (
        any::<[u8; 16]>(),
        any::<bool>(),
        any::<Index>(),
        any::<Index>(),
        any::<u64>(),
    )
        .prop_map(|(id, cdc, rotate, partition_columns, bits)| ViewChoice {
            id,
            cdc,
            rotate,
            partition_columns,
            bits,
        });
    (head, columns, keys, prop::option::of(view)).prop_map(
        |((id, name, cdc), (names, columns), (partition, clustering), view)| {
            let partition = partition.min(names.len());
            let clustering = clustering.min(names.len() - partition);
            let mut table = Table {
                id: TableId(id),
                keyspace: "ks".to_owned(),
                name,
                kind: TableKind::Table,
                cdc,
                counter: false,
                dense: false,
                partition_key: Vec::new(),
                clustering: Vec::new(),
                columns: Vec::new(),
                observed: Observed::default(),
            };
            let mut readded = Vec::new();
            for (place, (name, column)) in names.into_iter().zip(columns).enumerate() {
                let (cql_type, multi_cell, flag, fate, time) = column;
                // A drop time in whole milliseconds is the same in rows and in CQL.
                let time = time / 1_000_000 * 1000;
                let mut column = Column {
                    name,
                    kind: ColumnKind::PartitionKey,
                    multi_cell: multi_cell && cql_type.can_be_multi_cell(),
                    cql_type,
                    reversed: false,
                    dropped_at_us: None,
                    history: ColumnHistory::default(),
                };
                if place < partition {
                    column.multi_cell = false;
                    table.partition_key.push(column);
                } else if place < partition + clustering {
                    column.kind = ColumnKind::Clustering;
                    column.multi_cell = false;
                    column.reversed = flag;
                    table.clustering.push(column);
                } else {
                    let is_static = flag && clustering > 0;
                    column.kind = if is_static {
                        ColumnKind::Static
                    } else {
                        ColumnKind::Regular
                    };
                    if fate == 0 {
                        column.dropped_at_us = Some(time);
                        column.history.drops_us.push(time);
                    } else if fate == 1 {
                        let mut dropped = column.clone();
                        dropped.dropped_at_us = Some(time);
                        column.history.drops_us.push(time);
                        readded.push(dropped);
                    }
                    table.columns.push(column);
                }
            }
            table.sort_columns();
            let random = RandomTable {
                table,
                base: None,
                readded,
            };
            (random, view)
        },
    )
}

fn view_of(base: Table, choice: &ViewChoice) -> RandomTable {
    let mut keys: Vec<Column> = (base.partition_key.iter())
        .chain(&base.clustering)
        .cloned()
        .collect();
    let rotate = choice.rotate.index(keys.len());
    keys.rotate_left(rotate);
    let clustering = keys.split_off(choice.partition_columns.index(keys.len()) + 1);
    let keys_of = |columns: Vec<Column>, kind: ColumnKind| -> Vec<Column> {
        let with_place = columns.into_iter().enumerate();
        with_place
            .map(|(place, column)| Column {
                kind,
                reversed: kind == ColumnKind::Clustering && choice.bits >> place & 1 == 1,
                ..column
            })
            .collect()
    };
    let mut id = choice.id;
    id[0] = base.id.0[0] | 0x80;
    let live =
        |column: &&Column| column.kind == ColumnKind::Regular && column.dropped_at_us.is_none();
    let all = choice.bits >> 63 == 1;
    let columns = base.columns.iter().filter(live).enumerate();
    let table = Table {
        id: TableId(id),
        keyspace: "ks".to_owned(),
        name: format!("{} view", base.name),
        kind: TableKind::View,
        cdc: choice.cdc,
        counter: false,
        dense: false,
        partition_key: keys_of(keys, ColumnKind::PartitionKey),
        clustering: keys_of(clustering, ColumnKind::Clustering),
        columns: columns
            .filter(|(place, _)| all || choice.bits >> (place + 8) & 1 == 1)
            .map(|(_, column)| Column {
                history: ColumnHistory::default(),
                ..column.clone()
            })
            .collect(),
        observed: Observed::default(),
    };
    RandomTable {
        table,
        base: Some(base),
        readded: Vec::new(),
    }
}
