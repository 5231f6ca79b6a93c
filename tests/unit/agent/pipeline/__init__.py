"""Tests of the pipeline, over a fake reader and the sink in memory."""
