"""The engine: rounds of one model call and its tool calls, as a stream of events.
Only what decides the course of a run may enter; it knows Protocols, no tool, client or IPython."""
