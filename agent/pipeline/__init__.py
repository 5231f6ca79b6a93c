"""The pipeline: reads segments in `cdc_raw`, delivers their events, and stores offsets."""
