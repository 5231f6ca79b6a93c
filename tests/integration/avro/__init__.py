"""Events as Avro: what is read back by other readers than ours."""
