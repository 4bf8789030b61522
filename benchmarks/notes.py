"""What the kit noted beside its measurements, as pages and the API show it: bounded, as anybody may have written it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from profiles.models import Source

MOST_SHOWN = 1 << 16  # characters of the environment, and of the log


@dataclass(frozen=True)
class DeliveryNotes:
    """`environment`: as indented JSON, "" where there is none; `cut` of them are not shown to their end."""

    environment: str
    log: str
    cut: tuple[str, ...]


def notes_of(source: Source | None) -> DeliveryNotes | None:
    """None where nothing was noted, or a moderator hid the delivery."""
    if source is None or source.hidden or not (source.environment or source.log):
        return None
    environment = json.dumps(source.environment, indent=2, ensure_ascii=False) if source.environment else ""
    texts = {"environment": environment, "log": source.log}
    cut = tuple(name for name, text in texts.items() if len(text) > MOST_SHOWN)
    return DeliveryNotes(environment[:MOST_SHOWN], source.log[:MOST_SHOWN], cut)
