//! Room for the bytes of batches, which a batch that is done with leaves to a later one: fresh
//! room has to be filled with zeros first.

use std::sync::{Arc, Mutex, PoisonError};

/// A batch on its way and one that is made.
const MOST_ROOMS: usize = 2;
/// A room that a large mutation made longer goes back to the system.
const MOST_BYTES: usize = 4 << 20;

/// Room of batches that are gone.
#[derive(Debug, Clone, Default)]
pub struct BufferPool {
    rooms: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl BufferPool {
    /// Room that was left, with whatever was written there; empty when there is none.
    pub fn take(&self) -> Vec<u8> {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        rooms.pop().unwrap_or_default()
    }

    /// Leaves room behind.
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
    fn gives_what_was_left() {
        let spare = BufferPool::default();
        assert!(spare.take().is_empty());
        for byte in 1..=3 {
            spare.leave(vec![byte; 5]);
        }
        assert_eq!([spare.take(), spare.take()], [[2; 5], [1; 5]]);
        assert!(spare.take().is_empty());
    }

    #[test]
    fn keeps_no_room_of_large_mutations() {
        let spare = BufferPool::default();
        spare.leave(vec![0; MOST_BYTES + 1]);
        assert!(spare.take().is_empty());
    }
}
