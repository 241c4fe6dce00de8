"""`python -m narrows` is `narrows`."""

from narrows.cli.main import main

main()
