"""`cdc_raw`, where the node links its segments: names, index files, observations, inotify."""
