"""Where in the window things happen: exact numbers, and the same proportions in small windows."""

from __future__ import annotations

import pytest

from agent_kernel.context.window import Window, WindowSettings
from agent_kernel.model_types import Capabilities


def of(window: int, output: int, **settings: object) -> tuple[int, int, int, int]:
    model = Capabilities(context_window=window, max_output_tokens=output)
    found = Window.of(model, WindowSettings(**settings))  # type: ignore[arg-type]
    return found.effective, found.warning, found.autocompact, found.blocking


def test_the_thresholds_of_a_common_model() -> None:
    assert of(200_000, 64_000) == (180_000, 147_000, 167_000, 177_000)
    assert of(200_000, 8_192) == (191_808, 158_808, 178_808, 188_808)
    assert of(1_000_000, 128_000) == (980_000, 947_000, 967_000, 977_000)


def test_the_window_and_the_percentage_can_be_set() -> None:
    assert of(1_000_000, 64_000, size=200_000) == (180_000, 147_000, 167_000, 177_000)
    assert of(200_000, 64_000, percent=50) == (180_000, 70_000, 90_000, 177_000)
    # A percentage only ever lowers the threshold.
    assert of(200_000, 64_000, percent=99) == of(200_000, 64_000)


@pytest.mark.parametrize("window", [2_048, 8_192, 32_768, 65_536, 100_000, 131_072])
def test_in_a_small_window_the_thresholds_keep_their_order(window: int) -> None:
    effective, warning, autocompact, blocking = of(window, window)
    assert 0 < warning < autocompact < blocking < effective < window
