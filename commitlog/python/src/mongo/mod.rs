//! `mongo_agent.encoder`: raw BSON of MongoDB as messages.

mod batch;
mod document_id;
mod encoder;
mod events;
mod fragments;
mod input;
mod reply;
mod routing;
mod transaction;
mod transform;

use pyo3::prelude::*;

#[pymodule(submodule)]
pub mod _mongo {
    #[pymodule_export]
    use super::batch::{EncodingFailure, MongoBatch};
    #[pymodule_export]
    use super::document_id::id_document;
    #[pymodule_export]
    use super::encoder::MongoEncoder;
    #[pymodule_export]
    use super::events::ChangeEvents;
    #[pymodule_export]
    use super::fragments::FragmentJoiner;
    #[pymodule_export]
    use super::reply::StreamReply;
    #[pymodule_export]
    use super::transaction::MongoTransaction;
    #[pymodule_export]
    use super::transform::MongoTransform;
}
