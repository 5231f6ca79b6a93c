"""Avro through a real schema registry; `make registry` runs these files, pytest by itself does
not."""
