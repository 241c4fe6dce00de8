"""Rows into sinks: tasks write, the driver publishes."""
