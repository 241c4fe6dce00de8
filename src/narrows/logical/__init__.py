"""The logical plan: what a query computes, before anything is decided about how."""
