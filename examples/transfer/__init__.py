"""A transfer class of one's own."""
