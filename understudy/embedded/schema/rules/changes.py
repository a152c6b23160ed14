"""Whether two parts say the same. Clients leave out what is empty or false, so those count as not there."""

from typing import Any

import msgspec

_EMPTY: tuple[Any, ...] = (None, "", False, 0, [], {})


def alike(one: Any, other: Any) -> bool:
    return bool(one == other) or essence(one) == essence(other)


def essence(value: Any) -> Any:
    """Plain values, without what is empty."""
    match value:
        case msgspec.UNSET:
            return None
        case msgspec.Struct():
            return essence(msgspec.to_builtins(value, enc_hook=str))
        case dict():
            kept = ((key, essence(item)) for key, item in value.items())
            return {key: item for key, item in kept if item not in _EMPTY}
        case list():
            return [essence(item) for item in value]
    return value
