/// Which versions a compaction drops.
#[derive(Debug, Clone, Copy, Default)]
pub struct Purge {
    /// Deletions, tombstones and expired cells from before this second go, and with them all
    /// writes that any deletion covers. So a deletion never goes before what it covers.
    pub before_s: Option<i64>,
    /// Writes up to this time go: their table was truncated.
    pub truncated_us: Option<i64>,
}

impl Purge {
    /// The write time up to which writes go, if deletions cover them up to `deleted_to_us`.
    pub fn covered_to_us(&self, deleted_to_us: Option<i64>) -> Option<i64> {
        let covered_to_us = deleted_to_us.filter(|_| self.before_s.is_some());
        covered_to_us.max(self.truncated_us)
    }

    /// Whether a deletion or an expiry is old enough to go.
    pub fn drops(&self, is_purgeable: impl Fn(i64) -> bool) -> bool {
        self.before_s.is_some_and(is_purgeable)
    }
}
