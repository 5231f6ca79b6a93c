"""How complete the topics are: up to which time they have every acknowledged write of a table."""
