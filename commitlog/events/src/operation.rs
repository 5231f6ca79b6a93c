//! The operations of events, their letters, and which operations are skipped.

/// The operation of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// A row with liveness.
    Insert,
    /// Cells without row liveness, or any write to a static row.
    Update,
    /// A row or partition deletion.
    Delete,
    /// A range deletion.
    Range,
    /// A row that a snapshot read.
    Read,
}

impl Op {
    /// All operations, each at its [`Op::index`].
    pub const ALL: [Self; 5] = [
        Self::Insert,
        Self::Update,
        Self::Delete,
        Self::Range,
        Self::Read,
    ];

    pub fn index(self) -> usize {
        self as usize
    }

    /// Returns the letter for `skipped.operations`, in every style. Snapshot rows have no letter,
    /// because they are never skipped.
    pub fn skip_letter(self) -> Option<&'static str> {
        match self {
            Self::Insert => Some("i"),
            Self::Update => Some("u"),
            Self::Delete => Some("d"),
            Self::Range => Some("r"),
            Self::Read => None,
        }
    }

    pub fn letter(self, style: OpStyle) -> &'static str {
        match (self, style) {
            // In Debezium's connector, `r` is a range, and rows of snapshots are inserts.
            (Self::Insert | Self::Read, OpStyle::Native) => "i",
            (Self::Insert, OpStyle::Envelope) => "c",
            (Self::Update, _) => "u",
            (Self::Delete, _) => "d",
            (Self::Range, OpStyle::Native) | (Self::Read, OpStyle::Envelope) => "r",
            (Self::Range, OpStyle::Envelope) => "t",
        }
    }
}

/// The letters of `op`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OpStyle {
    /// `i u d r`, as in Debezium's connector for Cassandra.
    #[default]
    Native,
    /// `c u d t`, as in Debezium's other connectors.
    Envelope,
}

/// Operations whose events are not published (`skipped.operations`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SkippedOps([bool; Op::ALL.len()]);

impl SkippedOps {
    pub fn new(ops: impl IntoIterator<Item = Op>) -> Self {
        let mut skipped = Self::default();
        for op in ops {
            if let Some(slot) = skipped.0.get_mut(op.index()) {
                *slot = true;
            }
        }
        skipped
    }

    #[inline]
    pub fn has(self, op: Op) -> bool {
        self.0.get(op.index()).copied().unwrap_or(false)
    }

    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}
