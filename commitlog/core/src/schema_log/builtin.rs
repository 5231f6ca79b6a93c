//! The metadata log of 6.0 (`SystemKeyspace`), and the tables of `system_schema` in Cassandra 3.0
//! to 6.0, with the columns of all releases (`SchemaKeyspace`). Mutations list their columns by
//! name; no column has changed its type.

/// The relevant output of `DESCRIBE KEYSPACE system_schema WITH INTERNALS`.
pub(super) const SYSTEM_SCHEMA: &str = r"
CREATE TABLE system_schema.keyspaces (
    keyspace_name text PRIMARY KEY, durable_writes boolean, replication frozen<map<text, text>>,
    fast_path frozen<map<text, text>>
) WITH ID = abac5682-dea6-31c5-b535-b3d6cffd0fb6;
CREATE TABLE system_schema.tables (
    keyspace_name text, table_name text, flags frozen<set<text>>,
    additional_write_policy text, allow_auto_snapshot boolean, bloom_filter_fp_chance double,
    caching frozen<map<text, text>>, cdc boolean, comment text, compaction frozen<map<text, text>>,
    compression frozen<map<text, text>>, crc_check_chance double,
    dclocal_read_repair_chance double, default_time_to_live int,
    extensions frozen<map<text, blob>>, gc_grace_seconds int, id uuid,
    incremental_backups boolean, max_index_interval int, memtable text,
    memtable_flush_period_in_ms int, min_index_interval int, read_repair text,
    read_repair_chance double, speculative_retry text, fast_path frozen<map<text, text>>,
    pending_drop boolean, transactional_mode text, transactional_migration_from text,
    PRIMARY KEY (keyspace_name, table_name)
) WITH ID = afddfb9d-bc1e-3068-8056-eed6c302ba09;
CREATE TABLE system_schema.views (
    keyspace_name text, view_name text, base_table_id uuid, base_table_name text,
    include_all_columns boolean, where_clause text,
    additional_write_policy text, allow_auto_snapshot boolean, bloom_filter_fp_chance double,
    caching frozen<map<text, text>>, cdc boolean, comment text, compaction frozen<map<text, text>>,
    compression frozen<map<text, text>>, crc_check_chance double,
    dclocal_read_repair_chance double, default_time_to_live int,
    extensions frozen<map<text, blob>>, gc_grace_seconds int, id uuid,
    incremental_backups boolean, max_index_interval int, memtable text,
    memtable_flush_period_in_ms int, min_index_interval int, read_repair text,
    read_repair_chance double, speculative_retry text, fast_path frozen<map<text, text>>,
    pending_drop boolean, transactional_mode text, transactional_migration_from text,
    PRIMARY KEY (keyspace_name, view_name)
) WITH ID = 9786ac1c-dd58-3201-a7cd-ad556410c985;
CREATE TABLE system_schema.columns (
    keyspace_name text, table_name text, column_name text, clustering_order text,
    column_name_bytes blob, kind text, position int, type text,
    PRIMARY KEY (keyspace_name, table_name, column_name)
) WITH ID = 24101c25-a2ae-3af7-87c1-b40ee1aca33f;
CREATE TABLE system_schema.column_masks (
    keyspace_name text, table_name text, column_name text,
    function_argument_nulls frozen<list<boolean>>, function_argument_types frozen<list<text>>,
    function_argument_values frozen<list<text>>, function_keyspace text, function_name text,
    PRIMARY KEY (keyspace_name, table_name, column_name)
) WITH ID = 738cc5ed-0168-3268-b9d1-853d4bc278af;
CREATE TABLE system_schema.dropped_columns (
    keyspace_name text, table_name text, column_name text, dropped_time timestamp, kind text,
    type text, PRIMARY KEY (keyspace_name, table_name, column_name)
) WITH ID = 5e7583b5-f3f4-3af1-9a39-b7e1d6f5f11f;
CREATE TABLE system_schema.triggers (
    keyspace_name text, table_name text, trigger_name text, options frozen<map<text, text>>,
    PRIMARY KEY (keyspace_name, table_name, trigger_name)
) WITH ID = 4df70b66-6b05-3251-95a1-32b54005fd48;
CREATE TABLE system_schema.types (
    keyspace_name text, type_name text, field_names frozen<list<text>>,
    field_types frozen<list<text>>, PRIMARY KEY (keyspace_name, type_name)
) WITH ID = 5a8b1ca8-6602-3f77-a045-9273d308917a;
CREATE TABLE system_schema.functions (
    keyspace_name text, function_name text, argument_types frozen<list<text>>,
    argument_names frozen<list<text>>, body text, called_on_null_input boolean, language text,
    return_type text, PRIMARY KEY (keyspace_name, function_name, argument_types)
) WITH ID = 96489b79-80be-3e14-a701-66a0b9159450;
CREATE TABLE system_schema.aggregates (
    keyspace_name text, aggregate_name text, argument_types frozen<list<text>>, deterministic boolean,
    final_func text, initcond text, return_type text, state_func text, state_type text,
    PRIMARY KEY (keyspace_name, aggregate_name, argument_types)
) WITH ID = 924c5587-2e3a-345b-b10c-12f37c1ba895;
CREATE TABLE system_schema.indexes (
    keyspace_name text, table_name text, index_name text, kind text,
    options frozen<map<text, text>>, PRIMARY KEY (keyspace_name, table_name, index_name)
) WITH ID = 0feb57ac-311f-382f-ba6d-9024d305702f;
CREATE TABLE system.local_metadata_log (
    epoch bigint PRIMARY KEY, entry_id bigint, kind int, transformation blob
) WITH ID = e4ddd16e-bea6-31f4-8361-e88f07af8d4e;
";
