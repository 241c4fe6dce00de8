"""Topics that are written: rows as messages (workers), batches that are written once (driver)."""
