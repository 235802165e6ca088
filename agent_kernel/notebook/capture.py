"""Listen to what code shows, in order, while it is shown as usual.

``capture_output`` of IPython loses the order and the result. So hooks sit on both display channels,
and the writes to stdout and stderr are overheard.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any, Literal, TextIO, cast

from agent_kernel.vocabulary import CellOutput

StreamName = Literal["stdout", "stderr"]
OnOutput = Callable[[CellOutput], None]

MAX_TEXT = 1_000_000  # characters of stdout and stderr kept of one run
_CUT = "\n[more output was shown, but is not kept here]\n"


class OutputTap:
    """Collects outputs of the code that runs inside ``with tap.listening():``.

    ``on_output`` is told each output as it comes, on the thread that made it; a piece of a stream
    comes as an output of its own.
    """

    def __init__(self, shell: Any, on_output: OnOutput | None = None) -> None:
        self._shell = shell
        self._on_output = on_output
        self._outputs: list[CellOutput] = []
        self._display_ids: dict[int, str] = {}  # position -> display id
        self._text_left = MAX_TEXT
        self._clear_next = False

    @property
    def outputs(self) -> tuple[CellOutput, ...]:
        return tuple(self._outputs)

    def add(self, output: CellOutput) -> None:
        """Add an output that did not come through a channel (an error)."""
        if self._clear_next:
            self._clear()
        self._outputs.append(output)
        if self._on_output is not None:
            self._on_output(output)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for publisher in (self._shell.display_pub, self._shell.displayhook):
                if hasattr(publisher, "register_hook"):
                    publisher.register_hook(self._on_message)
                    stack.callback(publisher.unregister_hook, self._on_message)
                elif hasattr(publisher, "publish"):  # an IPython without a kernel
                    stack.enter_context(self._overheard_publisher(publisher))
            names: tuple[StreamName, ...] = ("stdout", "stderr")
            for name in names:
                stack.enter_context(self._overheard_stream(name))
            yield

    def _on_message(self, message: dict[str, Any]) -> dict[str, Any]:
        """A transform hook that changes nothing."""
        kind = message["header"]["msg_type"]
        content = message["content"]
        if kind == "clear_output":
            if content.get("wait"):
                self._clear_next = True
            else:
                self._clear()
        elif kind in {"display_data", "execute_result", "update_display_data"}:
            self._on_bundle(kind, content)
        return message

    def _on_bundle(self, kind: str, content: dict[str, Any]) -> None:
        display_id = (content.get("transient") or {}).get("display_id")
        output = CellOutput(
            output_type="execute_result" if kind == "execute_result" else "display_data",
            data=dict(content["data"]),
            metadata=dict(content.get("metadata") or {}),
            execution_count=content.get("execution_count"),
        )
        if kind == "update_display_data":
            for position, known in self._display_ids.items():
                if known == display_id:
                    self._outputs[position] = output
            return
        self.add(output)
        if display_id is not None:
            self._display_ids[len(self._outputs) - 1] = display_id

    def _on_text(self, name: StreamName, text: str) -> None:
        if not text or self._text_left <= 0:
            return
        if len(text) >= self._text_left:
            text = text[: self._text_left] + _CUT
            self._text_left = 0
        else:
            self._text_left -= len(text)
        if self._clear_next:
            self._clear()
        last = self._outputs[-1] if self._outputs else None
        if last is not None and last.output_type == "stream" and last.name == name:
            joined = (last.text or "") + text
            self._outputs[-1] = last.model_copy(update={"text": joined})
        else:
            self._outputs.append(CellOutput(output_type="stream", name=name, text=text))
        if self._on_output is not None:
            self._on_output(CellOutput(output_type="stream", name=name, text=text))

    def _clear(self) -> None:
        self._outputs.clear()
        self._display_ids.clear()
        self._clear_next = False

    @contextlib.contextmanager
    def _overheard_stream(self, name: StreamName) -> Iterator[None]:
        stream: Any = getattr(sys, name)
        if not hasattr(stream, "parent_header"):
            tee = _Tee(stream, lambda text: self._on_text(name, text))
            setattr(sys, name, tee)
            try:
                yield
            finally:
                if getattr(sys, name) is tee:
                    setattr(sys, name, stream)
            return
        # A kernel's stream: loggers hold on to the object, so its own write is overheard. Only
        # what goes to the same cell counts, not what comm handlers and widgets print meanwhile.
        cell = (stream.parent_header or {}).get("msg_id")
        before = stream.__dict__.get("write")
        write = stream.write

        def overheard(text: str) -> Any:
            written = write(text)  # raises for what is no text
            if (stream.parent_header or {}).get("msg_id") == cell:
                self._on_text(name, text)
            return written

        stream.write = overheard
        try:
            yield
        finally:
            if before is not None:
                stream.write = before
            else:
                del stream.write

    @contextlib.contextmanager
    def _overheard_publisher(self, publisher: Any) -> Iterator[None]:
        publish = publisher.publish

        def overheard(data: Any, metadata: Any = None, **more: Any) -> Any:
            kind = "update_display_data" if more.get("update") else "display_data"
            content = {
                "data": data,
                "metadata": metadata,
                "transient": more.get("transient"),
            }
            self._on_bundle(kind, content)
            return publish(data, metadata, **more)

        publisher.publish = overheard
        try:
            yield
        finally:
            del publisher.publish


class _Tee:
    """A text stream that is also told to a listener."""

    def __init__(self, stream: TextIO, listen: Callable[[str], None]) -> None:
        self._stream = stream
        self._listen = listen

    def write(self, text: str) -> int:
        self._listen(text)
        return self._stream.write(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(cast("Any", self._stream), name)
