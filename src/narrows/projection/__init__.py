"""A demand, compiled for a decoder: columns to emit, rows to keep, fields to encode."""
