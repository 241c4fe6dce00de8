"""From trees to typed expressions: names become columns, calls become functions."""
