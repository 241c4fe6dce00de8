"""Streaming queries: what feeds them, how far they have come, why they fail."""
