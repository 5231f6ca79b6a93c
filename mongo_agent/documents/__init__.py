"""Documents as MongoDB writes them: extended JSON and raw `_id`s."""
