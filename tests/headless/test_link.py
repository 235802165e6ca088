"""The front end's end of the kernel's channels, against a kernel that is only a socket."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import Any, cast

import zmq
import zmq.asyncio
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.channels import AsyncZMQSocketChannel
from jupyter_client.session import Session

from agent_kernel.headless.link import KernelLink


async def test_a_reply_that_arrives_while_something_is_sent_is_heard() -> None:
    """zmq's descriptor tells of changes only; sending beside the reader would take the signal."""
    session = Session(key=b"key")
    plain, loops = zmq.Context(), zmq.asyncio.Context()
    kernel = plain.socket(zmq.ROUTER)
    port = kernel.bind_to_random_port("tcp://127.0.0.1")

    def channel() -> AsyncZMQSocketChannel:
        socket = loops.socket(zmq.DEALER)
        socket.connect(f"tcp://127.0.0.1:{port}")
        return AsyncZMQSocketChannel(socket, session)

    names = ("shell_channel", "control_channel", "iopub_channel", "stdin_channel")
    channels = {name: channel() for name in names}
    client: Any = SimpleNamespace(session=session, **channels)
    link = KernelLink(cast("AsyncKernelClient", client))
    link.start()
    asked = asyncio.create_task(link.execute("1 + 1"))
    await asyncio.to_thread(kernel.poll)
    ident, request = session.recv(kernel)
    assert request is not None
    session.send(kernel, "execute_reply", {"status": "aborted"}, parent=request, ident=ident)
    time.sleep(0.05)  # noqa: ASYNC251 - the loop is busy while the reply comes in
    link.send_comm("c", {})
    reply = await asyncio.wait_for(asked, 20)
    assert reply["status"] == "aborted"

    await link.close()
    for opened in channels.values():
        opened.socket.close(0)
    kernel.close(0)
    plain.term()
    loops.term()
