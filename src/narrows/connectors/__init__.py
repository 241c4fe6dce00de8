"""One package a connector: where payloads come from and go to."""
