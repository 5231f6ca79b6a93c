"""A client for schema registries with Confluent's HTTP API, and the registration of schemas."""
