"""JSON: objects, one a line or one a message."""
