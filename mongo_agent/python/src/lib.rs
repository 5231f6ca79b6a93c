//! `mongo_agent.encoder`: encodes raw BSON from MongoDB as messages.

// PyO3 passes arguments by value.
#![allow(clippy::needless_pass_by_value)]

mod batch;
mod document_id;
mod encoder;
mod events;
mod fragments;
mod input;
mod linear_pattern;
mod reply;
mod routing;
mod transaction;
mod transform;

use pyo3::prelude::*;

#[pymodule(submodule)]
pub mod mongo {
    #[pymodule_export]
    use crate::batch::{EncodingFailure, MongoBatch};
    #[pymodule_export]
    use crate::document_id::id_document;
    #[pymodule_export]
    use crate::encoder::MongoEncoder;
    #[pymodule_export]
    use crate::events::ChangeEvents;
    #[pymodule_export]
    use crate::fragments::FragmentJoiner;
    #[pymodule_export]
    use crate::linear_pattern::LinearPattern;
    #[pymodule_export]
    use crate::reply::StreamReply;
    #[pymodule_export]
    use crate::transaction::MongoTransaction;
    #[pymodule_export]
    use crate::transform::MongoTransform;
}
