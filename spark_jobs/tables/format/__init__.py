"""The formats of typed tables, one module per format."""
