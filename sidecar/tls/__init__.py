"""TLS with Java's configuration: key and certificate stores, which are read as PEM."""
