//! Result pages with any content yield events or an error.

use std::sync::Arc;

use commitlog_core::schema::parse_cql;
use commitlog_events::format::EventFormat;
use commitlog_events::snapshot::{ElementTimes, PageRequest, SnapshotEncoder};
use commitlog_events::token::{position_of, token_of};
use proptest::prelude::*;

const COUNTERS: &str = "CREATE TABLE ks.n (k int PRIMARY KEY, n counter, m counter)
  WITH ID = 5a1c0000-0000-1000-8000-000000000003 AND cdc = true;";
const DDL: &str = "CREATE TYPE ks.place (street text, number int);
CREATE TABLE ks.t (k int, c int, st text static, v int, l list<int>, s set<int>, m map<text, int>,
  p place, PRIMARY KEY (k, c)) WITH ID = 5a1c0000-0000-1000-8000-000000000001 AND cdc = true;";

fn encoder(ddl: &str, element_times: ElementTimes) -> SnapshotEncoder {
    let schema = parse_cql(ddl).expect("a schema");
    let format = Arc::new(EventFormat {
        cells: true,
        ..EventFormat::default()
    });
    let tables = schema.tables();
    SnapshotEncoder::new(
        tables.first().expect("one table"),
        &format,
        element_times,
        1,
    )
}

fn request(body: &[u8]) -> PageRequest<'_> {
    PageRequest {
        body,
        read_at_us: 1_795_000_000_000_000,
        start: i64::MIN,
        end: None,
        continues: false,
    }
}

fn page(cells: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut body = 1_i32.to_be_bytes().to_vec();
    for cell in cells {
        let length = cell.as_ref().map_or(-1, |cell| cell.len() as i32);
        body.extend_from_slice(&length.to_be_bytes());
        body.extend_from_slice(cell.as_deref().unwrap_or_default());
    }
    body
}

proptest! {
    #[test]
    fn positions_keep_the_order_of_tokens(a: i64, b: i64) {
        prop_assert_eq!(a.cmp(&b), position_of(a).cmp(&position_of(b)));
        prop_assert_eq!(token_of(position_of(a)), a);
    }

    #[test]
    fn any_body_yields_events_or_an_error(body in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = encoder(DDL, ElementTimes::Unknown).encode(&request(&body), 0);
    }

    #[test]
    fn any_cells_yield_events_or_an_error(
        cells in prop::collection::vec(
            prop::option::of(prop::collection::vec(any::<u8>(), 0..40)), 20)
    ) {
        let body = page(&cells);
        let mut encoder = encoder(DDL, ElementTimes::Selected);
        if let Ok(batch) = encoder.encode(&request(&body), 0) {
            prop_assert_eq!(batch.mutations, 1);
            prop_assert!(batch.end_position >= batch.start_position);
        }
    }

    #[test]
    fn any_counter_cells_yield_events_or_an_error(
        cells in prop::collection::vec(
            prop::option::of(prop::collection::vec(any::<u8>(), 0..12)), 3)
    ) {
        let mut encoder = encoder(COUNTERS, ElementTimes::Selected);
        if let Ok(batch) = encoder.encode(&request(&page(&cells)), 0) {
            prop_assert_eq!(batch.mutations, 1);
        }
    }
}
