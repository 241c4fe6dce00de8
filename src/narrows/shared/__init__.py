"""Shared streams without Spark: who needs what, what has been decoded, and where it lies.

registry.py   the pipelines that run, what each needs, and what is decoded for all of them
segments.py   decoded columns in files
log.py        which segments there are, entry by entry
info.py       all of this for people
"""
