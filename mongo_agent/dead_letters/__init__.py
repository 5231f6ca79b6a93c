"""Messages and events that the agent cannot deliver, and ranges of time that it missed."""
