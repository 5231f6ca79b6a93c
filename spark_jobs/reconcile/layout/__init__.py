"""Layouts: how versions are stored. One protocol, and one module for each layout.

`append` adds files by bucket and compacts them later. `merge` stores one row for each source row
and merges each micro-batch into it. Both return the same versions.
"""
