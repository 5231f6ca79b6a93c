//! Turns decoded mutations into change events.
