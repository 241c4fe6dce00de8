"""Sources as data frames: markers, maps that read, tables, data frames of the user's."""
