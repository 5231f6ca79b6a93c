//! A slice of what `make fuzz` does whole.

mod every_bit;
mod replay;
