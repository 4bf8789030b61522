"""The kit's notes on its measurements, as pages and the API show them. Their length is limited, because any client may
have written them."""

from __future__ import annotations

import json
from dataclasses import dataclass

from profiles.models import Source

MOST_SHOWN = 1 << 16  # characters of the environment and of the log, each


@dataclass(frozen=True)
class DeliveryNotes:
    """Environment and log of a delivery. `environment` is indented JSON, or empty if there is none. `cut` names the
    texts that are truncated."""

    environment: str
    log: str
    cut: tuple[str, ...]


def notes_of(source: Source | None) -> DeliveryNotes | None:
    """Return the notes of a delivery, or None if there are none or a moderator hid the delivery."""
    if source is None or source.hidden or not (source.environment or source.log):
        return None
    environment = json.dumps(source.environment, indent=2, ensure_ascii=False) if source.environment else ""
    texts = {"environment": environment, "log": source.log}
    cut = tuple(name for name, text in texts.items() if len(text) > MOST_SHOWN)
    return DeliveryNotes(environment[:MOST_SHOWN], source.log[:MOST_SHOWN], cut)
