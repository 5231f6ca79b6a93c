//! Merges the events of a table into row states, visible rows and changes.
//!
//! A [`Merger`] reads Arrow batches of events and row states, sorted so that equal tokens are
//! adjacent, and evaluates one partition at a time. It stores every write and deletion, and applies
//! deletions only when it evaluates rows, because an older write may arrive after the deletion that
//! covers it. Merging takes the maximum in a total order ([`version`]). So neither the order of
//! events nor batch boundaries nor replica copies matter.

mod arena;
mod changes;
mod columns;
mod compaction;
mod content;
mod counter;
mod error;
mod evaluation;
mod event;
mod ingest;
mod input;
mod intake;
mod leb128;
mod merger;
mod output;
mod partition;
mod purge;
mod ranges;
mod row;
mod row_id;
mod session;
pub mod state;
pub mod version;
mod visible;
mod window;

pub use changes::Instants;
pub use error::{MergeError, Result};
pub use intake::{Intake, intake_fields};
pub use merger::{Merger, View};
pub use purge::Purge;
pub use session::Session;
pub use window::Window;
