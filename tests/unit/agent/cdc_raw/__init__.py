"""Tests of what is seen of `cdc_raw`."""
