"""Reading a change stream: where it goes on, and what its failures mean."""
