//! Topics of a batch.

#[derive(Debug, Clone)]
pub struct Topic {
    /// The name by which its messages are counted: `database.collection`, or less.
    pub subject: String,
    pub name: String,
}
