"""Two streams that are joined, by tasks that keep rows of both in files, entry by entry.

matches.py   which rows of one side match which of the other
side.py      the rows that are kept of one side: found by their keys, written, and given up in time
task.py      what a task does with the new rows of both
"""
