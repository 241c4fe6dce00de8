"""Payload bytes to Arrow columns and back. Arrow, but no Spark."""
