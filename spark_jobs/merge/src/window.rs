/// Selects writes by their write time in microseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Window {
    /// Excludes writes after this time.
    pub until_us: Option<i64>,
    /// Excludes writes from the first to the second time, inclusive.
    pub without_us: Option<(i64, i64)>,
}

impl Window {
    #[inline]
    pub fn admits(&self, written_us: i64) -> bool {
        let is_without = |(from_us, to_us)| from_us <= written_us && written_us <= to_us;
        self.until_us.is_none_or(|until_us| written_us <= until_us)
            && !self.without_us.is_some_and(is_without)
    }
}
