"""Events of all replicas → the table that they come from."""
