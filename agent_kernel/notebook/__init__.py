"""The notebook and the user's namespace: the live page, the file, running code, variables.

What may enter: reading, editing and running cells, and cells as text for the model."""
