"""Foreign servers with MongoDB's protocol, as a second opinion on the tests' own server.

`servers` starts them and contains the commands that each of them answers; `on_servers` compares the
answers: each difference is examined and listed.
"""
