"""Random programs with hooks, run in eager mode and as static graphs, and compared.

`python -m tests.fuzz` runs them; see `--help`.
"""
