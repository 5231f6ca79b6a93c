"""Parts of the command line that both agents share."""
