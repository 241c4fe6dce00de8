"""Topics that are read: what there is and who reads it (driver), and reading it (workers)."""
