"""How a run looks outside the panel: Markdown, plain text, the bundle of a cell, the widget.
Only events and snapshots enter; nothing here knows a model, a tool or a session.
"""
