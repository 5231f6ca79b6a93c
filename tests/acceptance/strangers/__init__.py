"""Rounds of hostile names, values, clocks and faults over whole paths: `make strangers`.

A round draws its source, its configuration and its steps from a seed. At its end each target is
what a reader of the source sees, or something that the product said names what differs.
"""
