"""Mutants of the modules that matter most, and which tests catch them.

A mutant is one small wrong change of one line. `drawn.json` has ten of each module of `modules`,
drawn by a program; `caught.json` has which test failed with each. A mutant that it lacks has no
result yet. A change of the test suite that loses a catch has lost a proof:

    python -m tests.support.mutants reach --output ~/reach
    python -m tests.support.mutants build --output ~/extensions
    python -m tests.support.mutants run --reach ~/reach --extensions ~/extensions --output now.json

`reach` takes paths of tests after `--`, and adds to what the folder has.

modules            the modules, and the tests of each
mutant             a mutant, and its place in a file
draw               the changes of lines; draws mutants that parse or compile
reach              which tests run which line of Python
extension          builds the extension of a mutant
first_failure      stops property tests at their first failure
trial              tries mutants, tier by tier
"""
