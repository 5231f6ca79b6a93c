"""The proof of the MongoDB agent on a real deployment: `make mongo-real`.

`deployment` says what is proved, checks the server before and drops the databases after; `programs`
starts it where a program is given. `proof` holds broker, agent and clients; `cases` has the cases,
`run` writes their results. `make test` runs the same cases in small on the tests' own server.
"""
