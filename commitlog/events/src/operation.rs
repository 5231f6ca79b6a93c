//! The operations of events, their letters, and which of them are skipped.

/// The operation of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// A row with liveness.
    Insert,
    /// Cells without liveness; every write to a static row.
    Update,
    /// A row or partition deletion.
    Delete,
    /// A range deletion.
    Range,
    /// A row that a snapshot read.
    Read,
}

impl Op {
    /// All of them, at their [`Op::index`].
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

    /// The letter by which `skipped.operations` names it, in every style. Rows that a snapshot read
    /// have none: they are never skipped.
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
            // `r` is a range to the incumbent's connector, which sends what it copied as inserts.
            (Self::Insert | Self::Read, OpStyle::Native) => "i",
            (Self::Insert, OpStyle::Envelope) => "c",
            (Self::Update, _) => "u",
            (Self::Delete, _) => "d",
            (Self::Range, OpStyle::Native) | (Self::Read, OpStyle::Envelope) => "r",
            (Self::Range, OpStyle::Envelope) => "t",
        }
    }
}

/// Letters of `op`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OpStyle {
    /// `i u d r`, as the incumbent's connector sends them.
    #[default]
    Native,
    /// `c u d t`, as Debezium's other connectors have them.
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
