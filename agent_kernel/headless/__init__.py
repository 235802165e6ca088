"""The room of the Python front end: it speaks the wire, holds a notebook in memory, runs its cells.

What needs no browser enters; it knows a kernel only by messages, as a page does.
"""
