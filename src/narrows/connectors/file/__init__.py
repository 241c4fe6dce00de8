"""Files in a folder: which are new, who reads which part, how they are published."""
