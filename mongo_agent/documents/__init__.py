"""Values of MongoDB: extended JSON and cluster times."""
