"""CSV: a line is a row."""
