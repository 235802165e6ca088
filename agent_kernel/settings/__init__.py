"""What the person has set: files and environment turned into one ``Settings``, keys, home folder.

Reading and judging settings may enter; nothing here acts on the world beyond its own files.
"""
