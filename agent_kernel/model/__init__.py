"""The model endpoint: client, capabilities, prices and the offline server.

What speaks to a model may enter; what decides (retries, recovery) belongs to the loop.
"""
