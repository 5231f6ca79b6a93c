"""Rounds of hostile names, values, clocks and faults over whole paths: `make strangers`."""
