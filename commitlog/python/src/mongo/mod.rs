//! `mongo_agent.encoder`: raw BSON of MongoDB as messages.

mod batch;
mod captures;
mod encoder;
mod events;
mod input;
mod reply;
mod transaction;

use pyo3::prelude::*;

#[pymodule(submodule)]
pub mod _mongo {
    #[pymodule_export]
    use super::batch::{MongoBatch, RefusedEvent};
    #[pymodule_export]
    use super::encoder::MongoEncoder;
    #[pymodule_export]
    use super::events::{event_times, join_fragments, split_of};
    #[pymodule_export]
    use super::reply::{MongoEvents, events_of_reply};
    #[pymodule_export]
    use super::transaction::MongoTransaction;
}
