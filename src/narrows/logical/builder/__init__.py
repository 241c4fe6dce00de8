"""From a parsed query to a logical plan, clause by clause."""
