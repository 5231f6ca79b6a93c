"""The steps of a tick, one file each. A step does what can be done now, without waiting, and
returns whether there was something to do."""
