"""What a turn does, a file a step: look, read, hold, deliver, leave. Each decides what can be done
now, does it without waiting, and says whether there was something to do."""
