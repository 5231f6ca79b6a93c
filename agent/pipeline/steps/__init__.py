"""The steps of a tick. A step does the work that is possible without waiting, and returns whether
there was any."""
