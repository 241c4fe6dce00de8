"""Pipelines without a streaming query: one entry after the other, by jobs or by tasks that last."""
