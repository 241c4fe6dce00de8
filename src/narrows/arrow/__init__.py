"""Arrow columns: types, conversion, parts of nested values, values as text."""
