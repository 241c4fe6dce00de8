"""Aggregates that are kept up to date row by row, one class for each kind."""
