"""What readers compute of rows, and begin to aggregate: which expressions, and how it is said."""
