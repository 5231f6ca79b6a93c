"""The process around any source of change events: its loop, its service, its threads."""
