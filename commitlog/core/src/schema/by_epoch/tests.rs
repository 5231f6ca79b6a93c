//! A node whose clock jumps by up to five minutes alters a table at random. Every update is read
//! with the definition of its epoch, regardless of write times.

use proptest::prelude::*;

use super::*;
use crate::cql_type::CqlType;
use crate::schema::epochs::MetadataLogEntry;
use crate::schema::system_rows::rows::{ColumnRow, DroppedColumnRow, TableRow, TypeRow};
use crate::schema::{ColumnKind, TableKind, parse_system_rows};

const ID: &str = "1b255f4d-ef25-40a6-0000-000000000005";
const NAMES: [&str; 3] = ["a", "b", "c"];
const TYPES: [&str; 4] = ["text", "blob", "int", "frozen<u>"];
const START_US: i64 = 1_700_000_000_000_000;

#[derive(Debug, Clone)]
enum Op {
    Add(usize, usize),
    Drop(usize),
    RenameKey,
    GrowType,
    Comment,
    Restart,
    /// An entry that changes no schema.
    Other,
}

fn ops() -> impl Strategy<Value = Vec<(Op, i64)>> {
    let op = prop_oneof![
        4 => (0..NAMES.len(), 0..TYPES.len()).prop_map(|(name, cql_type)| Op::Add(name, cql_type)),
        3 => (0..NAMES.len()).prop_map(Op::Drop),
        2 => Just(Op::RenameKey),
        2 => Just(Op::GrowType),
        1 => Just(Op::Comment),
        2 => Just(Op::Restart),
        1 => Just(Op::Other),
    ];
    prop::collection::vec((op, -300_000_000_i64..=300_000_000), 1..25)
}

/// A definition as the test compares it: the key, and each column with its type.
type Shape = (String, Vec<(String, CqlType)>);

/// The node: its table, and what it writes to its log.
#[derive(Default)]
struct Node {
    epoch: i64,
    key: String,
    fields: usize,
    columns: Vec<(&'static str, &'static str)>,
    dropped: Vec<DroppedColumnRow>,
    log: Vec<SchemaChange>,
    shapes: Vec<(i64, Shape)>,
}

fn column_row(name: &str, type_name: &str, kind: ColumnKind) -> ColumnRow {
    ColumnRow {
        keyspace_name: "k".to_owned(),
        table_name: "t".to_owned(),
        column_name: name.to_owned(),
        type_name: type_name.to_owned(),
        kind,
        position: if matches!(kind, ColumnKind::Regular) {
            -1
        } else {
            0
        },
        clustering_order: None,
        created_us: None,
    }
}

impl Node {
    fn entry(&mut self, cql: &str) {
        self.epoch += 1;
        let kind = if cql.is_empty() { 29 } else { 4 };
        let text = |text: &str| [&(text.len() as u16).to_be_bytes(), text.as_bytes()].concat();
        let bytes = [&[9, 1][..], &text("k"), &text(cql), &[1]].concat();
        let entry = MetadataLogEntry::parse(self.epoch, kind, &bytes);
        self.log.push(SchemaChange::of_entry(entry));
    }

    fn rows(&mut self, time_us: i64, fill: impl FnOnce(&mut SchemaChange)) {
        let mut change = SchemaChange {
            keyspace: "k".to_owned(),
            has_epochs: true,
            ..SchemaChange::default()
        };
        fill(&mut change);
        for (row_us, _) in &mut change.tables {
            *row_us = time_us;
        }
        self.log.push(change);
    }

    fn type_row(&self) -> TypeRow {
        let names = (0..self.fields).map(|field| format!("f{field}"));
        TypeRow {
            keyspace_name: "k".to_owned(),
            type_name: "u".to_owned(),
            field_names: names.collect(),
            field_types: vec!["int".to_owned(); self.fields],
        }
    }

    /// The complete state, as at a start.
    fn whole(&mut self, time_us: i64) {
        let mut columns = vec![
            column_row("p", "int", ColumnKind::PartitionKey),
            column_row(&self.key, "int", ColumnKind::Clustering),
        ];
        let regular = self.columns.iter();
        columns.extend(
            regular.map(|(name, type_name)| column_row(name, type_name, ColumnKind::Regular)),
        );
        let (dropped, types) = (self.dropped.clone(), self.type_row());
        self.rows(time_us, |change| {
            change.tables = vec![(time_us, table_row())];
            change.columns = columns.into_iter().map(|row| (time_us, row)).collect();
            change.dropped_columns = dropped.into_iter().map(|row| (time_us, row)).collect();
            change.types = vec![(time_us, types)];
        });
    }

    /// Makes a change, if the table allows it.
    fn run(&mut self, op: &Op, time_us: i64) {
        match *op {
            Op::Add(name, type_index)
                if self.columns.iter().all(|(known, _)| *known != NAMES[name]) =>
            {
                self.entry("ALTER TABLE k.t ADD x y");
                self.columns.push((NAMES[name], TYPES[type_index]));
                let row = column_row(NAMES[name], TYPES[type_index], ColumnKind::Regular);
                self.rows(time_us, |change| {
                    change.tables = vec![(time_us, table_row())];
                    change.columns = vec![(time_us, row)];
                });
            }
            Op::Drop(name) if self.columns.iter().any(|(known, _)| *known == NAMES[name]) => {
                self.entry("ALTER TABLE t DROP x");
                let place = self
                    .columns
                    .iter()
                    .position(|(known, _)| *known == NAMES[name]);
                let (_, type_name) = self.columns.remove(place.unwrap());
                let dropped = DroppedColumnRow {
                    keyspace_name: "k".to_owned(),
                    table_name: "t".to_owned(),
                    column_name: NAMES[name].to_owned(),
                    type_name: type_name.to_owned(),
                    kind: Some(ColumnKind::Regular),
                    dropped_time: time_us / 1000,
                };
                self.dropped.retain(|row| row.column_name != NAMES[name]);
                self.dropped.push(dropped.clone());
                self.rows(time_us, |change| {
                    change.tables = vec![(time_us, table_row())];
                    let names = ("t".to_owned(), NAMES[name].to_owned());
                    change.deleted_columns = vec![(time_us, names)];
                    change.dropped_columns = vec![(time_us, dropped)];
                });
            }
            Op::RenameKey => {
                self.entry("ALTER TABLE t RENAME x TO y");
                let before = std::mem::replace(&mut self.key, format!("key{}", self.epoch));
                let row = column_row(&self.key, "int", ColumnKind::Clustering);
                self.rows(time_us, |change| {
                    change.tables = vec![(time_us, table_row())];
                    change.deleted_columns = vec![(time_us, ("t".to_owned(), before))];
                    change.columns = vec![(time_us, row)];
                });
            }
            Op::GrowType => {
                self.entry("ALTER TYPE u ADD f int");
                self.fields += 1;
                let row = self.type_row();
                self.rows(time_us, |change| change.types = vec![(time_us, row)]);
            }
            Op::Comment => {
                // Only the metadata log contains the change.
                self.entry("COMMENT ON COLUMN t.p IS 'x'");
            }
            Op::Restart => self.whole(time_us),
            Op::Other => self.entry(""),
            Op::Add(..) | Op::Drop(_) => return,
        }
        self.note();
    }

    fn note(&mut self) {
        let fields = (0..self.fields).map(|field| crate::cql_type::UserTypeField {
            name: format!("f{field}"),
            cql_type: CqlType::Int,
        });
        let user_type = CqlType::Udt(Arc::new(crate::cql_type::UserType {
            keyspace: "k".to_owned(),
            name: "u".to_owned(),
            fields: fields.collect(),
        }));
        let mut columns: Vec<_> = (self.columns.iter())
            .map(|(name, type_name)| {
                let cql_type = match *type_name {
                    "text" => CqlType::Text,
                    "blob" => CqlType::Blob,
                    "int" => CqlType::Int,
                    _ => user_type.clone(),
                };
                ((*name).to_owned(), cql_type)
            })
            .collect();
        columns.sort_by(|a, b| a.0.cmp(&b.0));
        self.shapes.push((self.epoch, (self.key.clone(), columns)));
    }
}

fn table_row() -> TableRow {
    TableRow {
        keyspace_name: "k".to_owned(),
        name: "t".to_owned(),
        id: ID.to_owned(),
        cdc: Some(true),
        flags: None,
        kind: TableKind::Table,
        changed_us: None,
    }
}

fn shape(schema: &Schema, epoch: i64) -> Option<Shape> {
    let table = schema.table_at(TableId::parse(ID).unwrap(), Some(epoch))?;
    let live = table.columns.iter().filter(|c| c.dropped_at_us.is_none());
    let live = live.filter(|column| column.kind == ColumnKind::Regular);
    let columns = live.map(|column| (column.name.clone(), column.cql_type.clone()));
    Some((table.clustering[0].name.clone(), columns.collect()))
}

fn node(ops: &[(Op, i64)]) -> Node {
    let mut node = Node {
        key: "key".to_owned(),
        fields: 1,
        ..Node::default()
    };
    node.entry("CREATE TYPE k.u (f0 int)");
    let row = node.type_row();
    node.rows(START_US, |change| change.types = vec![(START_US, row)]);
    node.entry("CREATE TABLE k.t (p int, key int, PRIMARY KEY (p, key))");
    node.whole(START_US);
    node.note();
    for (step, (op, skew_us)) in ops.iter().enumerate() {
        node.run(op, START_US + 1_000_000 * step as i64 + skew_us);
    }
    node
}

proptest! {
    #[test]
    fn each_epoch_has_its_definition(ops in ops()) {
        let node = node(&ops);
        let mut schema = Schema::default();
        for change in &node.log {
            schema = schema.with_changes([change]);
            let is_last = change.entry.is_some();
            if let (false, Some(epoch)) = (is_last, schema.epochs.last)
                && let Some((_, expected)) = node.shapes.iter().rfind(|shape| shape.0 == epoch)
            {
                prop_assert_eq!(shape(&schema, epoch), Some(expected.clone()));
            }
        }
        for again in [
            schema.clone(),
            // A requeued segment is read after later ones.
            schema.with_changes(&node.log),
            Schema::from_stored(schema.to_stored().as_bytes()).unwrap(),
        ] {
            for (epoch, expected) in &node.shapes {
                prop_assert_eq!(shape(&again, *epoch), Some(expected.clone()), "{}", epoch);
            }
        }
        prop_assert!(schema.is_same(&Schema::from_stored(schema.to_stored().as_bytes()).unwrap()));
    }

    /// The newest state of the table is that of the last epoch, regardless of write times.
    #[test]
    fn newest_state_is_that_of_last_epoch(ops in ops()) {
        let node = node(&ops);
        let schema = Schema::default().with_changes(&node.log);
        let table = schema.table(TableId::parse(ID).unwrap()).unwrap();
        let live = table.columns.iter().filter(|c| c.dropped_at_us.is_none());
        let live: Vec<_> = live.map(|column| column.name.clone()).collect();
        let (_, (key, columns)) = node.shapes.last().unwrap();
        let expected: Vec<_> = columns.iter().map(|(name, _)| name.clone()).collect();
        prop_assert_eq!(live, expected);
        prop_assert_eq!(&table.clustering[0].name, key);
    }
}

/// Rows of a node that has the table `p int PRIMARY KEY, v <type>`.
fn node_rows(type_name: &str, epoch: i64, log: &[(i64, &str)]) -> Schema {
    let entries = log.iter().map(|(epoch, cql)| {
        let mut bytes = vec![9, 1, 0, 1, b'k', 0, cql.len() as u8];
        bytes.extend(cql.bytes());
        bytes.push(1);
        let digits: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let digits = digits.concat();
        format!(r#"{{"epoch":{epoch},"kind":4,"transformation":"{digits}"}}"#)
    });
    let entries: Vec<_> = entries.collect();
    let column = |name: &str, type_name: &str, kind: &str, position: i32| {
        format!(
            r#"{{"keyspace_name":"k","table_name":"t","column_name":"{name}","type":"{type_name}",
               "kind":"{kind}","position":{position}}}"#
        )
    };
    let json = format!(
        r#"{{"tables":[{{"keyspace_name":"k","table_name":"t","id":"{ID}","cdc":true}}],
           "columns":[{},{}],"epoch":{epoch},"metadata_log":[{}]}}"#,
        column("p", "int", "partition_key", 0),
        column("v", type_name, "regular", -1),
        entries.join(",")
    );
    parse_system_rows(json.as_bytes()).unwrap()
}

fn type_at(schema: &Schema, epoch: i64) -> CqlType {
    let table = schema
        .table_at(TableId::parse(ID).unwrap(), Some(epoch))
        .unwrap();
    let index = table.column_index(b"v", ColumnKind::Regular).unwrap();
    table.columns[index].cql_type.clone()
}

#[test]
fn rows_of_node_are_certain_since_last_change() {
    let log = [
        (7, "ALTER TABLE t ADD v text"),
        (8, "ALTER TABLE other ADD v text"),
        (9, "ALTER TABLE k.t ADD w int"),
        (10, "ALTER TABLE other ADD w text"),
    ];
    let schema = node_rows("text", 10, &log).seen_at(1_000_000);
    assert_eq!(schema.epochs.certain(TableId::parse(ID).unwrap(), 8), None);
    for epoch in [9, 10] {
        let known = schema.epochs.certain(TableId::parse(ID).unwrap(), epoch);
        assert!(known.is_some(), "{epoch}");
    }
    // Without a change in the log read so far, the definition is older than that part of the log.
    let schema = node_rows("text", 10, &log[1..2]);
    assert!(
        schema
            .epochs
            .certain(TableId::parse(ID).unwrap(), 7)
            .is_some()
    );
    assert_eq!(schema.epochs.certain(TableId::parse(ID).unwrap(), 6), None);
}

#[test]
fn node_with_fast_clock_and_log_agree() {
    // The agent's clock was ahead of the clock that timestamped ALTER.
    let node = node_rows("text", 10, &[(9, "ALTER TABLE t ADD v text")]).seen_at(START_US);
    let mut later = Node {
        epoch: 10,
        key: "none".to_owned(),
        ..Node::default()
    };
    later.entry("ALTER TABLE t DROP v");
    let dropped = DroppedColumnRow {
        keyspace_name: "k".to_owned(),
        table_name: "t".to_owned(),
        column_name: "v".to_owned(),
        type_name: "text".to_owned(),
        kind: Some(ColumnKind::Regular),
        dropped_time: START_US / 1000 - 300_000,
    };
    let early_us = START_US - 300_000_000;
    later.rows(early_us, |change| {
        change.tables = vec![(early_us, table_row())];
        change.deleted_columns = vec![(early_us, ("t".to_owned(), "v".to_owned()))];
        change.dropped_columns = vec![(early_us, dropped)];
    });
    later.entry("ALTER TABLE t ADD v blob");
    let row = column_row("v", "blob", ColumnKind::Regular);
    later.rows(early_us + 1, |change| {
        change.tables = vec![(early_us + 1, table_row())];
        change.columns = vec![(early_us + 1, row)];
    });
    let schema = node.with_changes(&later.log);
    assert_eq!(type_at(&schema, 9), CqlType::Text);
    assert_eq!(type_at(&schema, 12), CqlType::Blob);
    let merged = schema.merged(&node_rows("blob", 12, &[]).seen_at(early_us));
    assert_eq!(type_at(&merged, 9), CqlType::Text);
    assert_eq!(type_at(&merged, 12), CqlType::Blob);
    let table = merged.table(TableId::parse(ID).unwrap()).unwrap();
    assert_eq!(table.columns[0].cql_type, CqlType::Blob);
    assert_eq!(table.columns[0].dropped_at_us, None);
}

#[test]
fn epoch_without_rows_is_not_guessed() {
    let node = node(&[(Op::Add(0, 0), 0)]);
    let schema = Schema::default().with_changes(&node.log);
    let mut later = Node {
        epoch: node.epoch + 5,
        ..Node::default()
    };
    later.entry("ALTER TABLE t ADD x y");
    let schema = schema.with_changes(&later.log[..1]);
    let id = TableId::parse(ID).unwrap();
    assert!(schema.epochs.certain(id, node.epoch).is_some());
    assert!(schema.epochs.certain(id, node.epoch + 3).is_none());
    assert!(schema.epochs.certain(id, node.epoch + 6).is_none());
}
