"""What runs in a Python worker: read, decode, test, ship; encode, write. No pyspark, no planner."""
