"""Events as Avro, read back by third-party readers."""
