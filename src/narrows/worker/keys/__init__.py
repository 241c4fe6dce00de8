"""Keys of joins: gathered by tasks that read one table, and tested by those that read another."""
