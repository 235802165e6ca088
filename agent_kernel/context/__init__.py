"""What the model is shown of a conversation: normalising, counting, images.
Only pure functions of stored messages may enter; nothing here talks to the world."""
