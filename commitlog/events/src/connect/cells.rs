//! The schema of the member `cells`. Members that do not apply are absent, which Connect reads as
//! null.

use super::named::{ours, uuid};
use event_encoding::connect::{Schema, Shape};

/// Builds the schema of `cells`.
pub fn cells() -> Schema {
    let times = |name: &str, has_ttl: bool| {
        let mut fields = vec![("ts", Schema::new(Shape::Int64))];
        if has_ttl {
            fields.push(("ttl", Schema::new(Shape::Int32).optional()));
        }
        fields.push(("ldt", Schema::new(Shape::Int64).optional()));
        ours(name, fields)
    };
    let bytes = || Schema::new(Shape::Bytes).optional();
    let deletion = ours(
        "CollectionDeletion",
        vec![
            ("col", Schema::new(Shape::String)),
            ("ts", Schema::new(Shape::Int64)),
            ("ldt", Schema::new(Shape::Int64).optional()),
        ],
    );
    let cell = ours(
        "Cell",
        vec![
            ("col", Schema::new(Shape::String)),
            ("ts", Schema::new(Shape::Int64)),
            ("path", bytes()),
            ("key", bytes()),
            ("ttl", Schema::new(Shape::Int32).optional()),
            ("ldt", Schema::new(Shape::Int64).optional()),
            ("val", bytes()),
        ],
    );
    let fields = vec![
        ("kind", Schema::new(Shape::String)),
        ("id", uuid()),
        ("pk", Schema::new(Shape::Bytes)),
        ("token", Schema::new(Shape::Int64)),
        ("ck", bytes()),
        ("ckv", Schema::array(bytes()).optional()),
        ("lo", bytes()),
        ("hi", bytes()),
        ("live", times("Liveness", true).optional()),
        ("del", times("Deletion", false).optional()),
        ("cdel", Schema::array(deletion).optional()),
        ("cell", Schema::array(cell).optional()),
    ];
    ours("Cells", fields).optional()
}

/// Builds the schema of one counter shard.
pub fn shard() -> Schema {
    let fields = vec![
        ("id", uuid()),
        ("clock", Schema::new(Shape::Int64)),
        ("count", Schema::new(Shape::Int64)),
        ("kind", Schema::new(Shape::String).optional()),
        ("delta", Schema::new(Shape::Int64).optional()),
        ("since", Schema::new(Shape::Int64).optional()),
    ];
    ours("Shard", fields)
}
