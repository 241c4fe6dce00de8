"""The physical plan: how a query runs, node by node, still without Spark."""
