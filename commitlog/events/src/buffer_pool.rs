//! Reuses the buffers of dropped batches, because a new buffer must be zeroed first.

use std::sync::{Arc, Mutex, PoisonError};

/// One batch is delivered while the next is encoded.
const MOST_ROOMS: usize = 2;
/// Larger buffers, which result from large mutations, are freed.
const MOST_BYTES: usize = 4 << 20;

/// Buffers of dropped batches.
#[derive(Debug, Clone, Default)]
pub struct BufferPool {
    rooms: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl BufferPool {
    /// Takes a used buffer with arbitrary content, or an empty buffer if the pool is empty.
    pub fn take(&self) -> Vec<u8> {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        rooms.pop().unwrap_or_default()
    }

    /// Returns a buffer to the pool.
    pub fn leave(&self, room: Vec<u8>) {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        if rooms.len() < MOST_ROOMS && (1..=MOST_BYTES).contains(&room.len()) {
            rooms.push(room);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pool_returns_released_buffers() {
        let spare = BufferPool::default();
        assert!(spare.take().is_empty());
        for byte in 1..=3 {
            spare.leave(vec![byte; 5]);
        }
        assert_eq!([spare.take(), spare.take()], [[2; 5], [1; 5]]);
        assert!(spare.take().is_empty());
    }

    #[test]
    fn pool_drops_buffers_of_large_mutations() {
        let spare = BufferPool::default();
        spare.leave(vec![0; MOST_BYTES + 1]);
        assert!(spare.take().is_empty());
    }
}
