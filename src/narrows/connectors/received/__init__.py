"""Sources that cannot be read again: what they send is written to a log of our own first.

    a broker ──► Receiver ──► ReceivedLog ──► on the disk ──► acknowledged
                                   │
                                   └──► entries, ranges ──► tasks, like any other source

options.py     what statements say of the log
segments.py    how payloads stand in files
log.py         the log, for the one who writes it: syncs in groups, then acknowledges
keys.py        the last keys of what was written: who comes again is known
contents.py    what is on the disk, for those who read it
consumers.py   who reads it, and how far each has come: what all have read goes
source.py      the log as a source; what receives is its connector's business
reader.py      payloads of a range, in a worker
"""
