"""What formats and connectors declare, and how they are found: on the driver and in the workers."""
