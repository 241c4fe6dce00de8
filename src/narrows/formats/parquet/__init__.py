"""Parquet: columns to choose, not payloads to decode."""
