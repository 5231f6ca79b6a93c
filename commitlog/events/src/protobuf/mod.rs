//! Protobuf support: schemas of tables with their field numbers, prepared bytes, and the binary
//! form of CQL values (`docs/reference/protobuf.md`).

mod buffer;
mod names;
mod number;
mod plan;
mod schema;
pub(crate) mod value;

pub(crate) use buffer::{MessageBuffer, WireType, tag};
pub use number::ProtobufField;
pub use plan::ProtobufPlan;
pub(crate) use plan::{source_file, source_start, start};

/// Numbers of the fields that are the same for every table.
pub(crate) mod field {
    pub const TS_MS: u32 = 1;
    pub const OP: u32 = 2;
    pub const SOURCE: u32 = 3;
    pub const AFTER: u32 = 4;
    pub const CELLS: u32 = 5;

    pub mod source {
        pub const VERSION: u32 = 1;
        pub const CONNECTOR: u32 = 2;
        pub const NAME: u32 = 3;
        pub const TS_MS: u32 = 4;
        pub const SNAPSHOT: u32 = 5;
        pub const DB: u32 = 6;
        pub const TS_US: u32 = 8;
        pub const TS_NS: u32 = 9;
        pub const CLUSTER: u32 = 10;
        pub const FILE: u32 = 11;
        pub const POS: u32 = 12;
        pub const KEYSPACE: u32 = 13;
        pub const TABLE: u32 = 14;
        /// Only with `event.source.epoch`.
        pub const EPOCH: u32 = 17;
        /// A boolean, only in the layout of Debezium 1.x.
        pub const IS_SNAPSHOT: u32 = 15;
        pub const TS_MICRO: u32 = 16;
    }

    pub mod column {
        pub const VALUE: u32 = 1;
        pub const DELETION_TS: u32 = 2;
        pub const SET: u32 = 3;
        pub const REMOVED: u32 = 4;
        pub const SHARDS: u32 = 5;
    }

    pub mod after {
        pub const RANGE_START: u32 = 2046;
        pub const RANGE_END: u32 = 2047;
    }

    pub mod cells {
        pub const KIND: u32 = 1;
        pub const ID: u32 = 2;
        pub const PK: u32 = 3;
        pub const TOKEN: u32 = 4;
        pub const CK: u32 = 5;
        pub const CKV: u32 = 6;
        pub const LO: u32 = 7;
        pub const HI: u32 = 8;
        pub const LIVE: u32 = 9;
        pub const DEL: u32 = 10;
        pub const CDEL: u32 = 11;
        pub const CELL: u32 = 12;
    }

    pub mod cell {
        pub const COL: u32 = 1;
        pub const PATH: u32 = 2;
        pub const KEY: u32 = 3;
        pub const TS: u32 = 4;
        pub const TTL: u32 = 5;
        pub const LDT: u32 = 6;
        pub const VAL: u32 = 7;
    }
}
