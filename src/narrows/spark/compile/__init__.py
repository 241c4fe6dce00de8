"""The physical plan as Spark SQL."""
