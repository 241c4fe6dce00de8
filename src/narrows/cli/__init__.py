"""The `narrows` command."""
