//! Topics of a batch.

#[derive(Debug, Clone)]
pub struct Topic {
    /// The name under which its messages are counted: `database.collection`, `database` or empty.
    pub subject: String,
    pub name: String,
}
