"""`narrows serve`: the planner and one session behind HTTP, with pipelines that survive a restart.

    store.py       what was declared, and what shall run: two files in the state folder
    declarations.py    what is declared, and what would be: EXPLAIN
    lifecycle.py   what shall run, and what does
    core.py        the service without HTTP
    spark.py       the session that starts in the background, and the threads that talk to it
    queries.py     bounded queries: limit, time-out, cancel
    samples.py     what is remembered of running pipelines between two looks: batch durations
    metrics.py     what is known, as Prometheus reads it
    views.py       catalog objects, plans and runs as the answers of the API (models.py)
    problems.py    errors as problem+json
    security.py    who may ask, from where, and which paths statements may name
    http/          app.py: all of it as an ASGI application; routes/ has a file for each resource
                   server.py: that application on a socket, until SIGTERM
    client.py      the other side: for the command line and Python, with the standard library only

Only this room imports FastAPI, and only `narrows serve` imports this room - but for `client.py`,
which needs neither.
"""
