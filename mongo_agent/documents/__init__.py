"""Values of MongoDB: extended JSON, raw `_id`s and cluster times."""
