"""What exists: streams, tables, sinks, pipelines, and the options they may have."""
