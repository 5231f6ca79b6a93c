"""Foreign servers with MongoDB's protocol, as a second opinion on the tests' own server.

`servers` starts them, `questions` has the commands that each of them answers, and `on_servers`
compares the answers: each difference is examined and named.
"""
