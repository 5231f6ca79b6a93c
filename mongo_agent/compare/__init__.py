"""Topics beside collections: whether what was published of each document is what it is."""
