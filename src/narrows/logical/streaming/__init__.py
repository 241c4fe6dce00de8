"""What is special about plans that never end: what cannot run, and what is written of changes."""
