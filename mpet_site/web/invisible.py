"""Invisible characters of texts, which `profiles.measurements.bounds` rejects. This module does not import Django."""

from __future__ import annotations

import re

# Characters without a glyph, and characters that change the direction of writing. With them, different names can look
# the same. Tabs and line breaks are allowed.
_INVISIBLE_RANGES = (
    *((0x00, 0x08), (0x0B, 0x0C), (0x0E, 0x1F), (0x7F, 0x9F)),  # control characters
    *((0xAD, 0xAD), (0x61C, 0x61C), (0x180E, 0x180E), (0x200B, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F)),
    *((0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0xE0000, 0xE007F)),
)
_INVISIBLE_CLASS = "".join(f"{chr(first)}-{chr(last)}" for first, last in _INVISIBLE_RANGES)
INVISIBLE = re.compile(f"[{_INVISIBLE_CLASS}]")
VISIBLE_TEXT_PATTERN = f"^[^{_INVISIBLE_CLASS}]*$"  # for the published schemas
