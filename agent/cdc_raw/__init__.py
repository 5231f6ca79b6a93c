"""`cdc_raw`, into which the node links its segments: names, index files, observations, inotify."""
