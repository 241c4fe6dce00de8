"""Shared streams on Spark: one ingest, many pipelines."""
