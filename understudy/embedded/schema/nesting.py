"""How deep a document is. Whatever walks through one later must not run out of stack."""

from typing import Any


def deeper(value: Any, levels: int) -> bool:
    """Whether there are more levels of objects and lists than these."""
    if not isinstance(value, dict | list):
        return False
    below = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(deeper(one, levels - 1) for one in below if isinstance(one, dict | list))
