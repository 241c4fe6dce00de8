"""From SQL text to a plan: the rooms before this one, strung together."""
