"""The models the offline server says it has, as the models endpoint tells it."""

from __future__ import annotations

from typing import Any

MODELS = ("claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5")


def model_info(name: str) -> dict[str, Any]:
    """A model of the list; all that a script can show is supported.

    Clearing old results is told of one line of models only: it leaves ours nothing to do.
    """
    yes = {"supported": True}
    return {
        "type": "model",
        "id": name,
        "display_name": name,
        "created_at": "2026-01-01T00:00:00Z",
        "lifecycle": "active",
        "max_input_tokens": 200_000,
        "max_tokens": 64_000,
        "capabilities": {
            "image_input": yes,
            "thinking": {"supported": True, "types": {"enabled": yes, "adaptive": yes}},
            "context_management": {"supported": "opus" in name},
        },
    }
