"""The tools of the model: one tool, one file, on top of ``base``.

What may enter: what a call means and says. The world is reached through the Protocols only."""
