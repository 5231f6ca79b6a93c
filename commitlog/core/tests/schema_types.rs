//! Type names: CQL as `system_schema` and `DESCRIBE` write it, and Cassandra's Java classes.
use std::fmt::Write;

use commitlog_core::cql_type::CqlType;
use commitlog_core::schema::{SchemaError, UserTypes, marshal_name, parse_cql, parse_type};

const MARSHAL: &str = "org.apache.cassandra.db.marshal.";

fn parsed(text: &str) -> (CqlType, bool) {
    parse_type(text, "ks", &UserTypes::default()).unwrap()
}

fn failure(text: &str) -> String {
    let error = parse_type(text, "ks", &UserTypes::default()).unwrap_err();
    let SchemaError::Syntax { reason, .. } = error else {
        return format!("{error:?}");
    };
    reason
}

const TYPES: &str = r#"
    CREATE TYPE ks.addr (street text, "In" frozen<"inner é">);
    CREATE TYPE ks."inner é" (a frozen<list<int>>);
    CREATE TYPE other.addr (x int);
    CREATE TYPE ks."int" (i int);"#;

/// The type of a column with known user types, and whether it is multi-cell.
fn declared(text: &str) -> (CqlType, bool) {
    let id = "483d7350-e5c9-11f1-998c-b39dc08f01bb";
    let table = format!("CREATE TABLE ks.t (k int PRIMARY KEY, v {text}) WITH ID = {id};");
    let schema = parse_cql(&format!("{TYPES} {table}")).unwrap();
    let column = &schema.tables()[0].columns[0];
    (column.cql_type.clone(), column.multi_cell)
}

/// Every native type: its CQL name, its class and the length of a bare value (from Cassandra
/// 5.0.9).
const NATIVE: [(&str, CqlType, &str, Option<usize>); 21] = [
    ("ascii", CqlType::Ascii, "AsciiType", None),
    ("bigint", CqlType::BigInt, "LongType", Some(8)),
    ("blob", CqlType::Blob, "BytesType", None),
    ("boolean", CqlType::Boolean, "BooleanType", Some(1)),
    ("counter", CqlType::Counter, "CounterColumnType", None),
    ("date", CqlType::Date, "SimpleDateType", None),
    ("decimal", CqlType::Decimal, "DecimalType", None),
    ("double", CqlType::Double, "DoubleType", Some(8)),
    ("duration", CqlType::Duration, "DurationType", None),
    ("empty", CqlType::Empty, "EmptyType", Some(0)),
    ("float", CqlType::Float, "FloatType", Some(4)),
    ("inet", CqlType::Inet, "InetAddressType", None),
    ("int", CqlType::Int, "Int32Type", Some(4)),
    ("smallint", CqlType::SmallInt, "ShortType", None),
    ("text", CqlType::Text, "UTF8Type", None),
    ("time", CqlType::Time, "TimeType", None),
    ("timestamp", CqlType::Timestamp, "TimestampType", Some(8)),
    ("timeuuid", CqlType::TimeUuid, "TimeUUIDType", Some(16)),
    ("tinyint", CqlType::TinyInt, "ByteType", None),
    ("uuid", CqlType::Uuid, "UUIDType", Some(16)),
    ("varint", CqlType::VarInt, "IntegerType", None),
];

#[test]
fn native_types_are_parsed_by_name_and_class() {
    for (name, cql_type, class, length) in NATIVE {
        let class = format!("{MARSHAL}{class}");
        assert_eq!(parsed(name), (cql_type.clone(), false), "{name}");
        assert_eq!(parsed(&name.to_uppercase()), (cql_type.clone(), false));
        assert_eq!(parsed(&class), (cql_type.clone(), false), "{class}");
        assert_eq!(parsed(&format!("'{class}'")), (cql_type.clone(), false));
        assert_eq!(marshal_name(&cql_type, false, false), class);
        assert_eq!(cql_type.fixed_length(), length, "{name}");
    }
    assert_eq!(parsed("varchar"), (CqlType::Text, false));
}

/// Types and their class names in the format of Cassandra 5.0.9. `$` is `FROZEN_ADDR`, `%` its
/// multi-cell version.
const CLASSES: &str = "
list<int> | ListType(Int32Type)
set < text > | SetType(UTF8Type)
map<text,int> | MapType(UTF8Type,Int32Type)
frozen<list<int>> | FrozenType(ListType(Int32Type))
frozen<frozen<list<int>>> | FrozenType(ListType(Int32Type))
FROZEN<Set<TEXT>> | FrozenType(SetType(UTF8Type))
list<frozen<list<int>>> | ListType(FrozenType(ListType(Int32Type)))
map<text, frozen<list<int>>> | MapType(UTF8Type,FrozenType(ListType(Int32Type)))
map<int, frozen<set<frozen<map<int, text>>>>> | MapType(Int32Type,FrozenType(SetType(MapType(Int32Type,UTF8Type))))
tuple<int> | TupleType(Int32Type)
frozen<tuple<int, frozen<list<text>>>> | TupleType(Int32Type,ListType(UTF8Type))
tuple<int, frozen<list<int>>, frozen<addr>> | TupleType(Int32Type,ListType(Int32Type),$)
list<frozen<tuple<int, frozen<list<int>>>>> | ListType(TupleType(Int32Type,ListType(Int32Type)))
vector<float, 3> | VectorType(FloatType , 3)
frozen<vector<text,2>> | VectorType(UTF8Type , 2)
vector<vector<float, 2>, 16> | VectorType(VectorType(FloatType , 2) , 16)
list<vector<float, 2>> | ListType(VectorType(FloatType , 2))
vector<frozen<list<int>>, 2> | VectorType(FrozenType(ListType(Int32Type)) , 2)
list<frozen<vector<frozen<list<int>>, 2>>> | ListType(VectorType(FrozenType(ListType(Int32Type)) , 2))
frozen<list<vector<frozen<list<int>>, 2>>> | FrozenType(ListType(VectorType(ListType(Int32Type) , 2)))
tuple<vector<frozen<list<int>>, 2>> | TupleType(VectorType(ListType(Int32Type) , 2))
set<frozen<addr>> | SetType(FrozenType($))
frozen<set<addr>> | FrozenType(SetType($))
frozen<ADDR> | FrozenType($)
ks.addr | %
addr | %
list<frozen<\"addr\">> | ListType(FrozenType($))
frozen<other.addr> | FrozenType(UserType(other,61646472,78:Int32Type))
\"int\" | UserType(ks,696e74,69:Int32Type)
int | Int32Type
";

#[test]
fn class_names_of_cassandra_round_trip() {
    let cell_by_cell = FROZEN_ADDR.replace("496e:", "496e:FrozenType(") + ")";
    for case in CLASSES.trim().lines() {
        let (text, short) = case.split_once(" | ").unwrap();
        let short = short.replace('$', FROZEN_ADDR).replace('%', &cell_by_cell);
        let (cql_type, multi_cell) = declared(text);
        there_and_back(&cql_type, multi_cell, false, &short);
        if !multi_cell {
            there_and_back(
                &cql_type,
                multi_cell,
                true,
                &format!("ReversedType({short})"),
            );
        }
    }
}

fn there_and_back(cql_type: &CqlType, multi_cell: bool, reversed: bool, short: &str) {
    let class = with_packages(short);
    assert_eq!(marshal_name(cql_type, multi_cell, reversed), class);
    for text in [class, format!("'{short}'")] {
        assert_eq!(parsed(&text), (cql_type.clone(), multi_cell), "{text}");
    }
}

const FROZEN_ADDR: &str = "UserType(ks,61646472,737472656574:UTF8Type,\
    496e:UserType(ks,696e6e657220c3a9,61:ListType(Int32Type)))";

/// Adds the package to every class in a name.
fn with_packages(short: &str) -> String {
    let mut full = String::new();
    let mut word = String::new();
    for c in short.chars().chain([' ']) {
        if c.is_alphanumeric() {
            word.push(c);
            continue;
        }
        if word.ends_with("Type") {
            full.push_str(MARSHAL);
        }
        full.push_str(&std::mem::take(&mut word));
        full.push(c);
    }
    full.trim_end().to_owned()
}

#[test]
fn classes_without_cql_name_become_custom_types() {
    let composite = format!("{MARSHAL}CompositeType({MARSHAL}Int32Type,{MARSHAL}UTF8Type)");
    let dynamic = format!("{MARSHAL}DynamicCompositeType(s=>{MARSHAL}UTF8Type)");
    for class in [composite, dynamic, "com.example.GeoType".to_owned()] {
        let custom = CqlType::Custom(class.clone());
        assert_eq!(parsed(&format!("'{class}'")), (custom.clone(), false));
        assert_eq!(marshal_name(&custom, false, false), class);
        assert_eq!(custom.fixed_length(), None);
        let in_list = format!("frozen<list<'{class}'>>");
        assert_eq!(
            parsed(&in_list),
            (CqlType::List(Box::new(custom.clone())), false)
        );
        let reversed = format!("'{MARSHAL}ReversedType({class})'");
        assert_eq!(parsed(&reversed), (custom, false));
    }
    assert_eq!(
        parsed("'GeoType'"),
        (CqlType::Custom(format!("{MARSHAL}GeoType")), false)
    );
    assert_eq!(parsed("'DateType'"), (CqlType::Timestamp, false));
    assert_eq!(parsed("'LexicalUUIDType'"), (CqlType::Uuid, false));
}

/// A type and its error.
const FAILURES: &str = "
 | expected a type, found the end
list<int | expected `>`, found the end
map<int> | expected `,`, found `>`
bag<int> | expected frozen, list, set, map, tuple or vector before `<`, found `bag`
vector<int, 0> | expected the dimension of the vector, found `0`
int int | expected the end of the type, found `int`
point | there is no type ks.point
frozen<\"A\"> | there is no type ks.A
geo.point | there is no type geo.point
'ListType(' | type class 'ListType(': expected a class name at byte 9
'ListType(Int32Type' | type class 'ListType(Int32Type': expected `)` at byte 18
'UserType(ks,6g)' | type class 'UserType(ks,6g)': expected a name as hexadecimal UTF-8 at byte 12
'X((' | type class 'X((': expected `)` at byte 3
";

#[test]
fn failures_contain_expectation() {
    for case in FAILURES.trim_matches('\n').lines() {
        let (text, reason) = case.split_once(" | ").unwrap();
        assert_eq!(failure(text), reason, "{text}");
    }
}

#[test]
fn deep_nesting_is_opaque() {
    let deep = format!(
        "{}int{}",
        "frozen<list<".repeat(50_000),
        ">>".repeat(50_000)
    );
    assert!(format!("{:?}", parsed(&deep)).contains("OpaqueType"));
    let class = format!(
        "'{}Int32Type{}'",
        "ListType(".repeat(50_000),
        ")".repeat(50_000)
    );
    assert!(format!("{:?}", parsed(&class)).contains("OpaqueType"));
    let mut chain = String::from("CREATE TYPE ks.u0 (a int);\n");
    for n in 1..1000 {
        writeln!(chain, "CREATE TYPE ks.u{n} (a frozen<u{}>);", n - 1).unwrap();
    }
    let table = "CREATE TABLE ks.t (p int PRIMARY KEY, v frozen<u999>)";
    writeln!(
        chain,
        "{table} WITH ID = 5a1c395e-b41f-11e5-9f22-000000000001;"
    )
    .unwrap();
    let schema = parse_cql(&chain).unwrap();
    let tables = schema.tables();
    assert_eq!(tables[0].opaque_columns().count(), 1);
}
