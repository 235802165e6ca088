"""What is kept: transcripts, large results, the recorded events of a run.
Only code that remembers may enter; it decides nothing about a run."""
