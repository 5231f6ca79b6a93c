"""A plain port of Cassandra's merge rules: the `cells` of all events give the table.

`table` merges events into raw rows (docs/event-format.md, "cells"), `typed` reads their bytes as
the driver does, `comparison` holds them against `SELECT *`.
"""
