/// Which versions a compaction drops.
#[derive(Debug, Clone, Copy, Default)]
pub struct Purge {
    /// Drop deletions, tombstones and expired cells from before this second, and all writes that a
    /// deletion covers. So no deletion is dropped before the writes that it covers.
    pub before_s: Option<i64>,
    /// Drop writes up to this time, because their table was truncated.
    pub truncated_us: Option<i64>,
}

impl Purge {
    /// The time up to which writes are dropped, if deletions cover writes up to `deleted_to_us`.
    pub fn covered_to_us(&self, deleted_to_us: Option<i64>) -> Option<i64> {
        let covered_to_us = deleted_to_us.filter(|_| self.before_s.is_some());
        covered_to_us.max(self.truncated_us)
    }

    /// Whether a deletion or an expiry is old enough to be dropped.
    pub fn drops(&self, is_purgeable: impl Fn(i64) -> bool) -> bool {
        self.before_s.is_some_and(is_purgeable)
    }
}
