"""The room of everything that touches IPython and ipykernel: host, kernel, comm, magics.

Only plumbing enters: it carries text and events between the kernel and the session, no agent logic.
"""
