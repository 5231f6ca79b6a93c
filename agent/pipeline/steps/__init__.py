"""The steps of a tick. A step does what can be done now, without waiting, and returns whether there
was something to do."""
