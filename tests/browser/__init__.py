"""Tests that drive JupyterLab in a real Chromium, with a kernel of ours and the scripted model.

Only what a person can see and do here: pages, cells, buttons, keys; files are read when saved.
"""
