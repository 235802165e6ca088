"""What is in memory, in bounded words: types, shapes, columns, heads, nulls.

Only code of known libraries is run. A ``__repr__`` of the person's own classes is never called: it
may be slow, endless or change something.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent_kernel.protocols import VariableInfo

MAX_NAMES = 200
MAX_SUMMARY = 2_000  # characters
MAX_COUNTED = 5_000_000  # cells of a table whose nulls are counted
_HEAD = 5
_COLUMNS = 30
_ITEMS = 8
_TEXT = 120

_PLAIN = (int, float, complex, bool, type(None))
_OWN = frozenset({"In", "Out", "exit", "quit", "get_ipython", "open"})


def describe(
    namespace: Mapping[str, Any], names: Sequence[str] | None = None, *, hidden: object = None
) -> tuple[VariableInfo, ...]:
    """Summaries of the named variables, or of all that a person made. Unknown names are left out.

    ``hidden`` holds names the shell put there itself.
    """
    own = hidden if isinstance(hidden, Mapping | set | frozenset) else ()
    if names is None:
        chosen = [
            name
            for name, value in list(namespace.items())
            if not name.startswith("_")
            and name not in _OWN
            and not (name in own and _same(own, name, value))
            and not isinstance(value, types.ModuleType)
        ]
        chosen = sorted(chosen)[:MAX_NAMES]
    else:
        chosen = [name for name in names if name in namespace]
    return tuple(_info(name, namespace[name]) for name in chosen if name in namespace)


def _same(own: object, name: str, value: object) -> bool:
    """The shell's hidden names map to the values it put there; a person may have replaced one."""
    return not isinstance(own, Mapping) or own.get(name) is value


def _info(name: str, value: Any) -> VariableInfo:
    kind = type_name(type(value))
    try:
        shape, size, summary = _look(value)
    except Exception as error:  # noqa: BLE001 - a library's object in a strange state
        shape, size, summary = "", None, f"[no summary: {type(error).__name__}]"
    return VariableInfo(name=name, type=kind, shape=shape, size=size, summary=_cut(summary))


def type_name(kind: type) -> str:
    """The type as a person writes it; builtins without their module."""
    module: object = kind.__module__  # a class may set it to anything
    if not isinstance(module, str):
        module = ""
    short = {"pandas.core.frame": "pandas", "pandas.core.series": "pandas"}.get(module, module)
    return kind.__qualname__ if module in ("builtins", "") else f"{short}.{kind.__qualname__}"


def _look(value: Any) -> tuple[str, int | None, str]:
    """Shape, bytes and summary."""
    kind = type(value)
    library = (kind.__module__ or "").partition(".")[0]
    if library == "pandas" and kind.__name__ == "DataFrame":
        return _frame(value)
    if library == "pandas" and kind.__name__ in ("Series", "Index"):
        return _series(value)
    if library == "numpy" and kind.__name__ == "ndarray":
        return _array(value)
    if library == "numpy":
        return "", getattr(value, "nbytes", None), _cut(str(value), _TEXT)
    if library in ("polars", "pyarrow", "xarray", "torch", "jax", "tensorflow", "scipy"):
        return _library_object(value)
    if kind in (list, tuple, set, frozenset, dict, str, bytes, bytearray, range):
        return _shape_of(value), sys.getsizeof(value), brief(value)
    if kind in _PLAIN:
        return "", None, brief(value)
    if isinstance(value, types.FunctionType):
        return "", None, _signature(value)
    if isinstance(value, type):
        return "", None, f"class {type_name(value)}"
    return "", None, _attributes(value)


def _shape_of(value: Any) -> str:
    count = len(value)
    return f"{count:,} characters" if isinstance(value, str) else f"{count:,} items"


def _frame(frame: Any) -> tuple[str, int | None, str]:
    rows, columns = frame.shape
    nulls: Mapping[Any, int] = {}
    if rows * max(columns, 1) <= MAX_COUNTED:
        counted = frame.isna().sum()
        nulls = dict(enumerate(int(number) for number in counted.tolist()))
    lines = []
    for position, (column, dtype) in enumerate(
        zip(frame.columns[:_COLUMNS], frame.dtypes[:_COLUMNS], strict=False)
    ):
        missing = f", {nulls[position]:,} null" if nulls.get(position) else ""
        lines.append(f"  {brief(column)}: {dtype}{missing}")
    if columns > _COLUMNS:
        lines.append(f"  and {columns - _COLUMNS:,} more columns")
    head = frame.iloc[:_HEAD, :_COLUMNS]
    table = [" | ".join(brief(column, 24) for column in head.columns)]
    table += [
        " | ".join(brief(head.iat[row, column], 24) for column in range(head.shape[1]))
        for row in range(head.shape[0])
    ]
    text = "\n".join(["columns:", *lines, f"first {len(table) - 1} rows:", *table])
    size = int(frame.memory_usage(deep=False).sum())
    return f"{rows:,} × {columns:,}", size, text


def _series(series: Any) -> tuple[str, int | None, str]:
    count = len(series)
    missing = ""
    if count <= MAX_COUNTED:
        nulls = int(series.isna().sum())
        missing = f", {nulls:,} null" if nulls else ""
    values = ", ".join(brief(value, 40) for value in series[:_ITEMS].tolist())
    more = ", …" if count > _ITEMS else ""
    text = f"{series.dtype}{missing}: {values}{more}"
    return f"{count:,}", int(series.memory_usage(deep=False)), text


def _array(array: Any) -> tuple[str, int | None, str]:
    shape = " × ".join(f"{n:,}" for n in array.shape) or "scalar"
    first = ", ".join(brief(value, 24) for value in array.ravel(order="K")[:_ITEMS].tolist())
    text = f"{array.dtype}: {first}{', …' if array.size > _ITEMS else ''}"
    if array.dtype.kind in "iuf" and 0 < array.size <= MAX_COUNTED:
        text += f"\nmin {array.min()}, max {array.max()}, mean {array.mean():.6g}"
    return shape, int(array.nbytes), text


def _library_object(value: Any) -> tuple[str, int | None, str]:
    shape = getattr(value, "shape", None)
    dtype = getattr(value, "dtype", None) or getattr(value, "schema", None)
    text = " × ".join(f"{int(n):,}" for n in shape) if isinstance(shape, tuple) else ""
    return text, None, _cut(str(dtype), 600) if dtype is not None else ""


def _signature(function: types.FunctionType) -> str:
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    first = (function.__doc__ or "").strip().split("\n", 1)[0]
    return f"def {function.__name__}({', '.join(names)})" + (f" - {first}" if first else "")


def _attributes(value: Any) -> str:
    try:
        names = list(object.__getattribute__(value, "__dict__"))
    except AttributeError:
        return ""
    public = [name for name in names if isinstance(name, str) and not name.startswith("_")]
    if not public:
        return ""
    more = ", …" if len(public) > 20 else ""
    return f"attributes: {', '.join(public[:20])}{more}"


def brief(value: Any, limit: int = _TEXT, depth: int = 2) -> str:
    """A value on one line. Only builtin types show their content."""
    kind = type(value)
    if kind is str:
        return _cut(repr(value[: limit + 1]), limit)
    if kind in (bytes, bytearray):
        return _cut(repr(bytes(value[:limit])), limit)
    if kind is int and value.bit_length() > 256:  # Python refuses to print very long ones
        return f"an int of {value.bit_length():,} bits"
    if kind in _PLAIN or kind is range:
        return repr(value)
    if kind in (list, tuple, set, frozenset, dict):
        return _container(value, limit, depth)
    library = (kind.__module__ or "").partition(".")[0]
    if (
        library in ("numpy", "pandas", "datetime", "decimal", "fractions", "uuid", "pathlib")
        and getattr(value, "shape", ()) == ()
        and not hasattr(value, "__len__")
    ):
        return _cut(str(value), limit)
    return f"<{type_name(kind)}>"


def _container(value: Any, limit: int, depth: int) -> str:
    opening, closing = ("[", "]") if type(value) is list else ("{", "}")
    if type(value) is tuple:
        opening, closing = "(", ")"
    if depth == 0:
        return f"{opening}…{closing}"
    item: Callable[[Any], str] = lambda part: brief(part, 40, depth - 1)  # noqa: E731
    parts = []
    for number, part in enumerate(value):
        if number == _ITEMS:
            parts.append("…")
            break
        shown = f"{item(part)}: {item(value[part])}" if type(value) is dict else item(part)
        parts.append(shown)
    return _cut(opening + ", ".join(parts) + closing, max(limit, 200))


def _cut(text: str, limit: int = MAX_SUMMARY) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
