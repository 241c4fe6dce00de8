"""The service on a port: the application that is made of all routes, and the server it runs in."""
