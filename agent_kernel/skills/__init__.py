"""Skills: found in folders, read leniently, expanded literally, listed within a budget.

What may enter: everything about commands by name. Running their text is the loop's work."""
