"""Windows that tasks keep themselves in files: as partial results, or row by row.

fold.py          rows of a task, folded by key and place in time, into a file of groups
kept.py          what is kept of rows: partial results, or the rows themselves
fixed.py, sessions.py   what "place in time" means for a kind of window, and when it is over
keeper.py        which windows are over, and which files are merged
merge.py         what tasks make of the files when windows close
"""
