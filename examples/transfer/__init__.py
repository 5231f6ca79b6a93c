"""A custom transfer class."""
