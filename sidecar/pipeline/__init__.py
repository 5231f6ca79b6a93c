"""Parts of the loop between a source and its sink that are alike whatever the source is."""
