"""The kill test for hours: `make soak ARGS='--minutes 60'`."""
