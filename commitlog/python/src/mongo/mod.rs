//! `commitlog.mongo`: raw BSON of MongoDB as messages.

mod batch;
mod captures;
mod encoder;
mod events;
mod input;
mod reply;
mod transaction;

pub use batch::{MongoBatch, RefusedEvent};
pub use encoder::MongoEncoder;
pub use events::{event_times, join_fragments, split_of};
pub use reply::{MongoEvents, events_of_reply};
pub use transaction::MongoTransaction;
