"""What remembers rows, without Spark: state and rows in, state and values out.

`functions.py` has the functions (lag, latest, acc_sum ...), `windows.py` the windows that rows cut
(count, state, sliding). Spark only feeds them, key by key, each key's rows in the order of the
source; so they are tested, and can be read, without it.
"""
