"""Files of what tasks keep between entries, and the log of them.

groups_file.py   groups in an Arrow file, sorted so that tasks find the keys that are theirs
steps.py         which files there are after each step
fewer_files.py   which of them are merged when there are many
"""
