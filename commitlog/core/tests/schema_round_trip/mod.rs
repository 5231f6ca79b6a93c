//! Random schemas, printed as CQL and as rows of `system_schema`, round-trip. The fuzz targets
//! `schema_text` and `system_rows` cover invalid texts.
mod print_cql;
mod print_rows;
mod random_schema;

use self::random_schema::{any_column_type, any_schema};
use commitlog_core::schema::{
    Schema, UserTypes, marshal_name, parse_cql, parse_system_rows, parse_type,
};
use proptest::prelude::*;

proptest! {
    #[test]
    fn printed_cql_is_read_back(random in any_schema(), layout in any::<u64>()) {
        let text = print_cql::schema(&random, layout);
        let read = parse_cql(&text);
        prop_assert_eq!(read.unwrap(), random.schema(), "{}", text);
    }

    #[test]
    fn printed_rows_are_read_back(random in any_schema()) {
        let rows = print_rows::schema(&random).to_string();
        let read = parse_system_rows(rows.as_bytes());
        prop_assert_eq!(read.unwrap(), random.schema(), "{}", rows);
    }

    #[test]
    fn stored_schemas_are_read_back(random in any_schema(), layout in any::<u64>()) {
        let schema = parse_cql(&print_cql::schema(&random, layout)).unwrap().seen_at(7);
        let stored = schema.to_stored();
        let read = Schema::from_stored(stored.as_bytes()).unwrap();
        prop_assert!(read.is_same(&schema), "{}", stored);
        prop_assert_eq!(read.to_stored(), stored);
    }

    #[test]
    fn merging_schema_with_itself_changes_nothing(random in any_schema(), layout in any::<u64>()) {
        let schema = parse_cql(&print_cql::schema(&random, layout)).unwrap();
        prop_assert!(schema.merged(&schema).is_same(&schema));
        prop_assert!(schema.merged(&schema.seen_at(9)).is_same(&schema));
        prop_assert!(schema.seen_at(9).merged(&schema).is_same(&schema));
    }

    #[test]
    fn class_names_are_read_back((cql_type, multi_cell) in any_column_type(), reversed: bool) {
        let class = marshal_name(&cql_type, multi_cell, reversed);
        let read = parse_type(&class, "", &UserTypes::default());
        prop_assert_eq!(read.unwrap(), (cql_type, multi_cell), "{}", class);
    }
}
