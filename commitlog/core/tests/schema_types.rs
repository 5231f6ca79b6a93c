//! Type names: CQL as `system_schema` and `DESCRIBE` write it, and Cassandra's Java classes.
use std::fmt::Write;
use std::sync::Arc;

use commitlog_core::cql_type::{CqlType, UserType, UserTypeField};
use commitlog_core::schema::{SchemaError, UserTypes, marshal_name, parse_cql, parse_type};

const MARSHAL: &str = "org.apache.cassandra.db.marshal.";

fn parsed(text: &str) -> (CqlType, bool) {
    parse_type(text, "ks", &UserTypes::default()).unwrap()
}

fn failure(text: &str) -> String {
    let error = parse_type(text, "ks", &UserTypes::default()).unwrap_err();
    let SchemaError::Syntax { what, .. } = error else {
        return format!("{error:?}");
    };
    what
}

fn list(element: CqlType) -> CqlType {
    CqlType::List(Box::new(element))
}

fn set(element: CqlType) -> CqlType {
    CqlType::Set(Box::new(element))
}

fn map(key: CqlType, value: CqlType) -> CqlType {
    CqlType::Map(Box::new(key), Box::new(value))
}

fn vector(element: CqlType, dimension: u32) -> CqlType {
    CqlType::Vector(Box::new(element), dimension)
}

fn user_type(name: &str, fields: &[(&str, CqlType)]) -> CqlType {
    CqlType::Udt(Arc::new(UserType {
        keyspace: "ks".to_owned(),
        name: name.to_owned(),
        fields: fields
            .iter()
            .map(|(name, cql_type)| UserTypeField {
                name: (*name).to_owned(),
                cql_type: cql_type.clone(),
            })
            .collect(),
    }))
}

/// `inner é (a frozen<list<int>>)` inside of `addr (street text, "In" frozen<inner é>)`.
fn addr() -> CqlType {
    let inner = user_type("inner é", &[("a", list(CqlType::Int))]);
    user_type("addr", &[("street", CqlType::Text), ("In", inner)])
}

/// Every native type by its CQL name, its class and the length of a bare value (read off
/// Cassandra 5.0.9).
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
fn native_types_by_name_and_by_class() {
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

#[test]
fn collections_tuples_and_vectors() {
    use CqlType::{Float, Int, Text, Tuple};
    let cases = [
        ("list<int>", list(Int), true),
        ("set < text >", set(Text), true),
        ("map<text,int>", map(Text, Int), true),
        ("frozen<list<int>>", list(Int), false),
        ("frozen<frozen<list<int>>>", list(Int), false),
        ("FROZEN<Set<TEXT>>", set(Text), false),
        ("list<frozen<list<int>>>", list(list(Int)), true),
        (
            "map<int, frozen<set<frozen<map<int, text>>>>>",
            map(Int, set(map(Int, Text))),
            true,
        ),
        ("tuple<int>", Tuple(vec![Int]), false),
        (
            "frozen<tuple<int, frozen<list<text>>>>",
            Tuple(vec![Int, list(Text)]),
            false,
        ),
        ("vector<float, 3>", vector(Float, 3), false),
        ("frozen<vector<text,2>>", vector(Text, 2), false),
        (
            "vector<vector<float, 2>, 16>",
            vector(vector(Float, 2), 16),
            false,
        ),
        ("list<vector<float, 2>>", list(vector(Float, 2)), true),
    ];
    for (text, cql_type, multi_cell) in cases {
        assert_eq!(parsed(text), (cql_type, multi_cell), "{text}");
    }
}

/// Class names as Cassandra 5.0.9 prints them. `$` is `FROZEN_ADDR`.
#[test]
fn class_names_of_cassandra_there_and_back() {
    use CqlType::{Float, Int, Text, Tuple};
    let lists = list(vector(list(Int), 2));
    let names = map(Text, list(Int));
    let (cells, whole) = (true, false);
    let cases = [
        (list(Int), whole, "FrozenType(ListType(Int32Type))"),
        (list(Int), cells, "ListType(Int32Type)"),
        (
            names,
            cells,
            "MapType(UTF8Type,FrozenType(ListType(Int32Type)))",
        ),
        (
            Tuple(vec![Int, list(Int), addr()]),
            whole,
            "TupleType(Int32Type,ListType(Int32Type),$)",
        ),
        (
            list(Tuple(vec![Int, list(Int)])),
            cells,
            "ListType(TupleType(Int32Type,ListType(Int32Type)))",
        ),
        (vector(Float, 3), whole, "VectorType(FloatType , 3)"),
        (
            vector(list(Int), 2),
            whole,
            "VectorType(FrozenType(ListType(Int32Type)) , 2)",
        ),
        (
            lists.clone(),
            cells,
            "ListType(VectorType(FrozenType(ListType(Int32Type)) , 2))",
        ),
        (
            lists,
            whole,
            "FrozenType(ListType(VectorType(ListType(Int32Type) , 2)))",
        ),
        (
            Tuple(vec![vector(list(Int), 2)]),
            whole,
            "TupleType(VectorType(ListType(Int32Type) , 2))",
        ),
        (set(addr()), cells, "SetType(FrozenType($))"),
        (set(addr()), whole, "FrozenType(SetType($))"),
        (addr(), whole, "FrozenType($)"),
        (Int, whole, "Int32Type"),
    ];
    for (cql_type, multi_cell, short) in cases {
        there_and_back(
            &cql_type,
            multi_cell,
            false,
            &short.replace('$', FROZEN_ADDR),
        );
        if !multi_cell {
            let reversed = format!("ReversedType({})", short.replace('$', FROZEN_ADDR));
            there_and_back(&cql_type, multi_cell, true, &reversed);
        }
    }
    let cell_by_cell = FROZEN_ADDR.replace("496e:", "496e:FrozenType(") + ")";
    there_and_back(&addr(), true, false, &cell_by_cell);
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

/// Puts the package in front of every class of a name.
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
fn classes_that_cql_has_no_name_for() {
    let composite = format!("{MARSHAL}CompositeType({MARSHAL}Int32Type,{MARSHAL}UTF8Type)");
    let dynamic = format!("{MARSHAL}DynamicCompositeType(s=>{MARSHAL}UTF8Type)");
    for class in [composite, dynamic, "com.example.GeoType".to_owned()] {
        let custom = CqlType::Custom(class.clone());
        assert_eq!(parsed(&format!("'{class}'")), (custom.clone(), false));
        assert_eq!(marshal_name(&custom, false, false), class);
        assert_eq!(custom.fixed_length(), None);
        let in_list = format!("frozen<list<'{class}'>>");
        assert_eq!(parsed(&in_list), (list(custom.clone()), false));
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

#[test]
fn user_types_by_name() {
    let schema = parse_cql(
        r#"CREATE TYPE ks.addr (street text, "In" frozen<"inner é">);
           CREATE TYPE ks."inner é" (a frozen<list<int>>);
           CREATE TYPE other.addr (x int);
           CREATE TYPE ks."int" (i int);
           CREATE TABLE ks.t (k int PRIMARY KEY, a addr, b frozen<ADDR>, c ks.addr,
               d frozen<other.addr>, e list<frozen<"addr">>, f "int")
           WITH ID = 483d7350-e5c9-11f1-998c-b39dc08f01bb;"#,
    )
    .unwrap();
    let tables = schema.tables();
    let columns: Vec<_> = (tables[0].columns.iter())
        .map(|column| (column.cql_type.clone(), column.multi_cell))
        .collect();
    let other = CqlType::Udt(Arc::new(UserType {
        keyspace: "other".to_owned(),
        name: "addr".to_owned(),
        fields: vec![UserTypeField {
            name: "x".to_owned(),
            cql_type: CqlType::Int,
        }],
    }));
    let expected = [
        (addr(), true),
        (addr(), false),
        (addr(), true),
        (other, false),
        (list(addr()), true),
        (user_type("int", &[("i", CqlType::Int)]), true),
    ];
    assert_eq!(columns, expected);
}

/// A type and what is wrong with it.
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
fn failures_say_what_was_expected() {
    for case in FAILURES.trim_matches('\n').lines() {
        let (text, what) = case.split_once(" | ").unwrap();
        assert_eq!(failure(text), what, "{text}");
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
