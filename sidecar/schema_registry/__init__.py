"""A client of schema registries with Confluent's HTTP API, and the registration of schemas."""
