"""Starting, watching and stopping pipelines; the state folder; Spark itself."""
