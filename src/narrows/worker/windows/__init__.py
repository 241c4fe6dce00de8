"""Windows that tasks keep themselves in files: as partial results, or row by row.

fold.py          rows of a task, folded by key and place in time, into a file of groups
kept.py          what is kept of rows: partial results, or the rows themselves
fixed.py, sessions.py   what "place in time" means for a kind of window, and when it is over
groups_file.py   such a file, sorted so that tasks find the keys that are theirs
steps.py         which files there are after each micro-batch, and where the watermark is
merge.py         what tasks make of the files when windows close
"""
