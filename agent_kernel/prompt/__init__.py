"""What the model is told before the conversation: named sections, user and system context.
Only text and the code that assembles it may enter."""
