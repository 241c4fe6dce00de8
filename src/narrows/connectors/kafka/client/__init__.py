"""What everything that talks to brokers has in common: settings, errors, the library, questions."""
