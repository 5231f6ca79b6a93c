"""Where events go: one file or folder for each kind of sink, found by name in `registry`."""
