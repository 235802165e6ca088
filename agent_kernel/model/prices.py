"""What a call costs, by the table beside this module."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from agent_kernel.messages import Usage

_DATED = re.compile(r"-\d{8}$")
_MILLION = 1_000_000


class _Rates(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float
    output: float
    cache_read: float
    cache_write: float


class _Price(_Rates):
    above: int | None = None
    long: _Rates | None = None


def cost(model: str, usage: Usage) -> float | None:
    """US dollars for one call; None if the price of the model is not known."""
    table = _table()
    price = table.get(model) or table.get(_DATED.sub("", model))
    if price is None:
        return None
    rates: _Rates = price
    if price.long is not None and price.above is not None and usage.total_input > price.above:
        rates = price.long
    return (
        usage.input_tokens * rates.input
        + usage.output_tokens * rates.output
        + usage.cache_read_input_tokens * rates.cache_read
        + usage.cache_creation_input_tokens * rates.cache_write
    ) / _MILLION


@cache
def _table() -> dict[str, _Price]:
    import yaml

    text = (Path(__file__).parent / "prices.yaml").read_text(encoding="utf-8")
    models = yaml.safe_load(text)["models"]
    return {name: _Price.model_validate(entry) for name, entry in models.items()}
