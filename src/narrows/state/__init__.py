"""What must survive a restart, and where it is kept."""
