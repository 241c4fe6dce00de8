"""One file for each resource of the API; `app.py` puts them together."""
