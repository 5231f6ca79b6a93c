"""The proof of the MongoDB agent on a real deployment: `make mongo-real`.

`deployment` says what is proved and `programs` starts it where a program is given; `guard` checks
the server before and drops the databases after. `proof` holds broker, agent and clients; `cases`,
`fault_cases` and `suites` are the cases, `report` writes their results. `make test` runs the same
cases in small on the tests' own server.
"""
