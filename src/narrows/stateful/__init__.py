"""What remembers rows, without Spark: state and rows in, state and values out.

`functions/` has the functions (lag, latest, acc_sum ...), `windows/` the windows of a stream. Each
is one class that says all there is to say of it: what it takes and refuses, the type of its values,
when its windows close, and what it does. The planner reads the declarations; Spark only feeds the
evaluators, key by key, each key's rows in the order of the source. So they are tested, and can be
read, without Spark, and nothing here loads the planner or Arrow.
"""
