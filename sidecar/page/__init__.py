"""The status page: `/`, and its values as JSON."""
