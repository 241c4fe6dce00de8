"""What tasks keep between entries, on Spark: jobs of windows, groups, and what is remembered."""
