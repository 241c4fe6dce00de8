"""Groups that no window ends, which tasks keep themselves, as partial results in files.

fold.py     rows of a task, folded by key, into a file of groups (`worker/keeping/groups_file.py`)
merge.py    what tasks make of the files: of each group that an entry has changed, all there is
keeper.py   the step of an entry: which files there are then (`worker/keeping/steps.py`)
"""
