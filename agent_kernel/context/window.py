"""Where in a model's window things happen (SPEC C1). All numbers are tokens."""

from __future__ import annotations

from dataclasses import dataclass

from agent_kernel.model_types import Capabilities

OUTPUT_RESERVE = 20_000
AUTOCOMPACT_RESERVE = 13_000
WARNING_RESERVE = 20_000
BLOCKING_RESERVE = 3_000


@dataclass(frozen=True)
class WindowSettings:
    """What the person set. ``size`` is the window's, for a model nobody knows; ``most`` is as much
    of it as they want to use. ``percent`` can only lower the threshold of autocompact."""

    size: int | None = None
    most: int | None = None
    percent: float | None = None
    autocompact: bool = True


@dataclass(frozen=True)
class Window:
    """``effective`` is what input may fill; beyond the other three a warning is shown, a summary
    is made, no request is sent."""

    size: int
    effective: int
    warning: int
    autocompact: int
    blocking: int

    @classmethod
    def of(cls, model: Capabilities, settings: WindowSettings | None = None) -> Window:
        """Small windows keep the same proportions, which the fixed reserves would use up."""
        settings = settings or WindowSettings()
        size = settings.size or model.context_window
        size = min(size, settings.most or size)
        effective = size - min(model.max_output_tokens, OUTPUT_RESERVE, size // 4)
        autocompact = effective - min(AUTOCOMPACT_RESERVE, effective // 5)
        if settings.percent is not None:
            autocompact = min(autocompact, int(effective * settings.percent / 100))
        return cls(
            size=size,
            effective=effective,
            warning=autocompact - min(WARNING_RESERVE, autocompact // 3),
            autocompact=autocompact,
            blocking=effective - min(BLOCKING_RESERVE, effective // 20),
        )
