//! Reads Accord's journal, to which Cassandra 6.0 writes transactions instead of the commit log.
//!
//! ```text
//! segment    entry | entry | …                                        (reader, entry)
//! entry      command store, transaction id | changed fields           (txn_id, change)
//! fields     … | definition | dependencies | … | outcome              (participants, transactions)
//! updates    fragments of the definition, updates of the outcome      (transaction, rewrite)
//! mutation   as in a commit-log segment of version 9                  (update_writer, commit_log)
//! ```
//!
//! The formats match 6.0-alpha2: journal version 1, user version 1.

mod bytes;
mod change;
mod column_ids;
mod commit_log;
mod entry;
mod participants;
mod reader;
mod rewrite;
mod transaction;
mod transactions;
mod txn_id;
mod update_writer;

pub use column_ids::ColumnIds;
pub use commit_log::commit_log_segment;
pub use reader::{Read, Stop, read, skip};
pub use rewrite::Rewriter;
pub use transactions::Transactions;
