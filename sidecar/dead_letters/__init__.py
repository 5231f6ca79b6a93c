"""Events that cannot be delivered, kept with the reason."""
