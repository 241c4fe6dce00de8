"""What tests share: strategies that make schemas, documents and queries, and a reference."""
