"""Files as a source: which there are, who reads which part, their lines, what has been taken."""
