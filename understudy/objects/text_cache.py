"""Structs whose fields are mostly left as text while objects are read: equal texts are decoded once.

A text that was understood before is looked up; one that was not is decoded, and kept with its meaning.
"""

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import msgspec

MAX_TEXTS = 20_000  # kept of each sort; the cache is cleared when it is full
MAX_LONG_TEXTS = 2_000  # of those that are long and quick to read again, and often each object's own

Key = TypeVar("Key")
Made = TypeVar("Made")
Raw = msgspec.Raw
NOTHING = Raw()
NULL = Raw(b"null")


class BoundedCache(dict[Key, Made]):
    """What was understood so far, up to a limit."""

    def __init__(self, most: int = MAX_TEXTS) -> None:
        super().__init__()
        self._most = most

    def keep(self, key: Key, made: Made) -> Made:
        if len(self) >= self._most:
            self.clear()
        self[key] = made
        return made


def cached_decoder(kind: Any, tidied: Callable[[Any], Made] | None = None) -> Callable[[Raw], Made]:
    """What a text means; one that was read before is not read again."""
    decode = msgspec.json.Decoder(kind).decode
    tidy: Callable[[Any], Made] = tidied or (lambda decoded: decoded)
    known = BoundedCache[bytes, Made](MAX_LONG_TEXTS)

    def meaning(raw: Raw) -> Made:
        text = bytes(raw)
        found = known.get(text)
        return known.keep(text, tidy(decode(text))) if found is None else found

    return meaning


class RawStruct(Generic[Made]):
    """Of a struct, another with the same fields: those named have the type given, and come first; the others are
    left as text. `made` gives the struct itself."""

    def __init__(self, struct: type[Made], **typed: Any) -> None:
        fields: dict[str, Any] = {field.name: field for field in msgspec.structs.fields(struct)}  # type: ignore[arg-type]
        self._struct = struct
        self._left = [name for name in fields if name not in typed]
        self._decoders = [msgspec.json.Decoder(fields[name].type).decode for name in self._left]
        declared = []
        for name in (*typed, *self._left):
            default = fields[name].default if name in typed and typed[name] is not Raw else NOTHING
            declared.append((name, typed.get(name, Raw), msgspec.field(name=fields[name].encode_name, default=default)))
        self.wire = msgspec.defstruct(f"{struct.__name__}Texts", declared, frozen=True, gc=False, kw_only=True)

    def made(self, texts: Iterable[Raw], **others: Any) -> Made:
        """From the texts that were left, in their order, and the other fields."""
        for name, decode, text in zip(self._left, self._decoders, texts, strict=True):
            if text and text != NULL:
                others[name] = decode(text)
        return self._struct(**others)
