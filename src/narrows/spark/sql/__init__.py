"""Plans as Spark SQL text: names, types, expressions, rows that are text or a data frame."""
