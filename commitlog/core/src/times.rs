//! Delta-coded times (`EncodingStats`, `SerializationHeader`, format notes §4.3 to §4.5).

// The cursor stays in registers as long as no function is called.
#![allow(clippy::inline_always)]

use crate::cursor::Cursor;
use crate::descriptor::Version;
use crate::error::{DecodeError, Result};
use crate::row::{Deletion, LocalDeletionTime};

/// The epoch that the bases are relative to: 2015-09-22T00:00:00Z.
pub(crate) const TIMESTAMP_EPOCH_US: i64 = 1_442_880_000_000_000;
pub(crate) const DELETION_TIME_EPOCH_S: u32 = 1_442_880_000;

/// Bases of one update's delta-coded times.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    timestamp_us: i64,
    deletion_time_s: u32,
    ttl_s: i32,
    deletion_times_are_unsigned: bool,
}

impl Times {
    #[inline(always)]
    pub fn read(cursor: &mut Cursor<'_>, version: Version) -> Result<Self> {
        Ok(Self {
            timestamp_us: TIMESTAMP_EPOCH_US.wrapping_add(cursor.uvint()? as i64),
            deletion_time_s: DELETION_TIME_EPOCH_S.wrapping_add(cursor.uvint()? as u32),
            ttl_s: cursor.uvint()? as i32,
            deletion_times_are_unsigned: version.has_unsigned_deletion_times(),
        })
    }

    #[inline(always)]
    pub fn timestamp(&self, cursor: &mut Cursor<'_>) -> Result<i64> {
        Ok(self.timestamp_us.wrapping_add(cursor.uvint()? as i64))
    }

    #[inline]
    pub fn ttl(&self, cursor: &mut Cursor<'_>) -> Result<i32> {
        let ttl = self.ttl_s.wrapping_add(cursor.uvint()? as i32);
        if ttl < 0 {
            return Err(DecodeError::out_of_range("TTL", ttl as u32));
        }
        Ok(ttl)
    }

    #[inline]
    pub fn local_deletion_time(&self, cursor: &mut Cursor<'_>) -> Result<LocalDeletionTime> {
        // Writers sign-extend the 32-bit difference, so only its low half counts (§4.4).
        let seconds = self.deletion_time_s.wrapping_add(cursor.uvint()? as u32);
        Ok(LocalDeletionTime(if self.deletion_times_are_unsigned {
            i64::from(seconds)
        } else {
            i64::from(seconds as i32)
        }))
    }

    #[inline(never)]
    pub fn deletion(&self, cursor: &mut Cursor<'_>) -> Result<Deletion> {
        Ok(Deletion {
            timestamp_us: self.timestamp(cursor)?,
            local_deletion_time: self.local_deletion_time(cursor)?,
        })
    }
}
