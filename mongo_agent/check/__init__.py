"""What `mongo-agent check` looks at: MongoDB, directory, broker, progress. Nothing is changed."""
