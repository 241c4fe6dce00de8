"""From text to statements: the tokens and the trees, before any name is looked up."""
