"""The proof of the MongoDB agent on a real deployment: `make mongo-real`.

`deployment` describes the tested deployment, checks the server before and drops the databases
after; `programs` starts the server if a program is given. `proof` contains broker, agent and
clients; `cases` contains the cases, `run` writes their results. `make test` runs the same cases in
small on the tests' own server.
"""
