//! The schema of the member `cells`. Members that do not apply are absent, which is null to
//! Connect.

use super::named::{ours, uuid};
use event_encoding::connect::{Schema, Shape};

/// The schema of `cells`.
pub fn cells() -> Schema {
    let times = |name: &str, has_ttl: bool| {
        let mut fields = vec![("ts", Schema::of(Shape::Int64))];
        if has_ttl {
            fields.push(("ttl", Schema::of(Shape::Int32).optional()));
        }
        fields.push(("ldt", Schema::of(Shape::Int64).optional()));
        ours(name, fields)
    };
    let bytes = || Schema::of(Shape::Bytes).optional();
    let deletion = ours(
        "CollectionDeletion",
        vec![
            ("col", Schema::of(Shape::String)),
            ("ts", Schema::of(Shape::Int64)),
            ("ldt", Schema::of(Shape::Int64).optional()),
        ],
    );
    let cell = ours(
        "Cell",
        vec![
            ("col", Schema::of(Shape::String)),
            ("ts", Schema::of(Shape::Int64)),
            ("path", bytes()),
            ("key", bytes()),
            ("ttl", Schema::of(Shape::Int32).optional()),
            ("ldt", Schema::of(Shape::Int64).optional()),
            ("val", bytes()),
        ],
    );
    let fields = vec![
        ("kind", Schema::of(Shape::String)),
        ("id", uuid()),
        ("pk", Schema::of(Shape::Bytes)),
        ("token", Schema::of(Shape::Int64)),
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

/// One shard of a counter.
pub fn shard() -> Schema {
    let fields = vec![
        ("id", uuid()),
        ("clock", Schema::of(Shape::Int64)),
        ("count", Schema::of(Shape::Int64)),
        ("kind", Schema::of(Shape::String).optional()),
        ("delta", Schema::of(Shape::Int64).optional()),
        ("since", Schema::of(Shape::Int64).optional()),
    ];
    ours("Shard", fields)
}
