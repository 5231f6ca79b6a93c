"""Segments in `cdc_raw` on their way to acknowledged events and stored offsets."""
