"""The formats of typed tables, one module each."""
