"""``python -m agent_kernel.model.offline --scripts FILE --port N``: the scripted model, by itself.

Then let a client use it: ``ANTHROPIC_BASE_URL=http://127.0.0.1:N ANTHROPIC_API_KEY=x``.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import threading
from pathlib import Path

from agent_kernel.errors import SettingsError
from agent_kernel.model.offline.server import OfflineServer


def main(arguments: list[str] | None = None) -> int:
    """Serve until interrupted. The first line of the output is the base URL."""
    parser = argparse.ArgumentParser(
        prog="python -m agent_kernel.model.offline",
        description="A loopback server that speaks the Messages API and plays scripts.",
    )
    parser.add_argument(
        "--scripts", type=Path, action="append", help="a YAML file or a folder of them; repeatable"
    )
    parser.add_argument("--port", type=int, default=0, help="0 (the default) takes a free one")
    options = parser.parse_args(arguments)
    try:
        server = OfflineServer(options.scripts, port=options.port)
        base_url = server.start()
    except (OSError, SettingsError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    with contextlib.suppress(KeyboardInterrupt):
        sys.stdout.write(f"{base_url}\n")
        sys.stdout.flush()
        threading.Event().wait()
    server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
