"""The scripted model: a loopback server for people without a key and for every test.

Only what speaks HTTP, reads scripts or plays them may enter; nothing here knows the client.
"""

from agent_kernel.model.offline.script import Fault, Script
from agent_kernel.model.offline.server import OfflineServer

__all__ = ["Fault", "OfflineServer", "Script"]
