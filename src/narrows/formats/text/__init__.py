"""Lines of text: each is one row of one STRING column."""
