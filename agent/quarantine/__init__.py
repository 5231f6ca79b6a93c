"""The quarantine: segments with lost ranges, and dead letters.

files       file names, and why a segment is quarantined
quarantine  the directory, as the pipeline uses it
requeue     the move of a segment back into `cdc_raw`
scanner     size and counts, for status and metrics
entries     list, retry and discard, for the command line
"""
