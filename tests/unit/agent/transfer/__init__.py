"""Tests of the ways out of `cdc_raw`."""
