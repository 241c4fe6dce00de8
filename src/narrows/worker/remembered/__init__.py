"""What is remembered of rows, key by key, by the tasks that see them: in files, entry by entry.

keys.py            the rows of a task by their keys, in the order of their source
store.py           what is kept of each key: found, written, and merged when files get many
functions.py       functions that remember rows (`lag`, `acc_sum`), over the rows of a task
windows.py         windows that rows cut
groups.py          groups that never end, with rows that take back what was written before
distinct_rows.py   rows that are written once
keeper.py          which files there are after each step
task.py            what a task does with the rows of an entry
"""
