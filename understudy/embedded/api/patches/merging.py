"""JSON merge patch (RFC 7386): turns a document and a partial one into the document with those parts changed."""

from typing import Any

from understudy.embedded.api.errors import bad_request
from understudy.embedded.api.patches.values import refuse_depth


def merge(document: dict[str, Any], patch: Any) -> dict[str, Any]:
    """null takes a field away, an object is merged, all else replaces. What is not patched is shared with the input."""
    if not isinstance(patch, dict):
        raise bad_request("a merge patch of an object must be an object itself")
    refuse_depth(patch)
    return _merged(document, patch)


def _merged(target: Any, patch: dict[str, Any]) -> dict[str, Any]:
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = _merged(result.get(key), value)
        else:
            result[key] = value
    return result
