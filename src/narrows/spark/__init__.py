"""Everything that runs on Spark: sources, sinks, compiled plans, sessions. Only here is pyspark."""
