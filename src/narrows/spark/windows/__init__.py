"""Windows, functions that remember rows, and time."""
