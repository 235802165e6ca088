"""Programs of the person that are asked around tool calls and prompts.
Only implementations of the Hooks seam may enter."""
