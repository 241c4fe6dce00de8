"""One package a format: payload bytes to Arrow columns and back. Arrow, but no Spark."""
