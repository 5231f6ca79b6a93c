"""What `agent check` looks at: directories, node, broker, progress. Nothing is changed."""
