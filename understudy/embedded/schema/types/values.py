"""The types of field values: bounds checked while decoding, quantities, times, and how lists merge."""

import re
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from msgspec import Meta, UnsetType

T = TypeVar("T")
Maybe: TypeAlias = T | UnsetType


"""A field that may be left out. UNSET fields are not written."""


_INT64 = 2**63 - 1
NonEmpty = Annotated[str, Meta(min_length=1)]
Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-_INT64 - 1, le=_INT64)]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Positive = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Seconds = Annotated[int, Meta(ge=0, le=_INT64)]
PositiveSeconds = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Port = Annotated[int, Meta(ge=1, le=65535)]
Weight = Annotated[int, Meta(ge=1, le=100)]
FileMode = Annotated[int, Meta(ge=0, le=0o777)]
IntOrString = Int32 | str
TIME = r"^[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9](\.[0-9]{1,9})?(Z|[+-][0-2][0-9]:[0-5][0-9])\Z"
Time = Annotated[str, Meta(pattern=TIME)]


"""RFC 3339, kept as it was written."""


Protocol = Literal["TCP", "UDP", "SCTP"]
RestartPolicy = Literal["Always", "OnFailure", "Never"]
PullPolicy = Literal["Always", "IfNotPresent", "Never"]
TaintEffect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
AccessMode = Literal["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"]
VolumeMode = Literal["Block", "Filesystem"]
PreemptionPolicy = Literal["PreemptLowerPriority", "Never"]

Opaque = dict[str, Any]
"""An object of a type that this cluster does not act on: its fields are not checked."""


def keyed(*keys: str, at_least: int | None = None) -> Meta:
    """A list whose items are identified by these fields when it is patched; without fields: a set of plain values."""
    return Meta(min_length=at_least, extra={"keys": keys})


class Quantity(str):
    """An amount as Kubernetes writes it: 500m, 2, 16Gi."""

    __slots__ = ()


Quantities = dict[str, Quantity]
ZERO = Quantity("0")
_GRAMMAR = re.compile(r"([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:([eE][+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i)?)", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"": 0, "Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_LARGEST = Decimal(_INT64)
NOT_A_QUANTITY = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'; "
    "write a number like 4, 500m, 1.5, 16Gi or 1e3"
)


@lru_cache(maxsize=65_536, typed=True)
def canonical(given: str | int | float) -> Quantity:
    """The one way to write an amount: 0.5 is 500m, 1024Mi is 1Gi, 1000m is 1. Finer than a billionth is rounded up."""
    if isinstance(given, bool):
        raise ValueError(NOT_A_QUANTITY)
    text = given if isinstance(given, str) else repr(given)
    if text.isascii() and text.isdigit() and len(text) < 19 and (text[0] != "0" or text == "0") and text[-3:] != "000":
        return Quantity(text)
    match = _GRAMMAR.fullmatch(text) if len(text) <= 64 else None
    if match is None:
        raise ValueError(NOT_A_QUANTITY)
    sign, digits, exponent, suffix = match.groups()
    amount = _amount(digits, exponent, suffix or "")
    if exponent:
        return Quantity(sign.strip("+") + _in_exponents(amount))
    binary = suffix is not None and suffix.endswith("i") and (amount >= 1024 or not amount)
    return Quantity(sign.strip("+") * bool(amount) + (_in_binary(amount) if binary else _in_decimal(amount)))


@lru_cache(maxsize=65_536)
def amount_of(quantity: str) -> Decimal:
    """How much a canonical quantity is, in whole units."""
    match = _GRAMMAR.fullmatch(quantity)
    if match is None:
        raise ValueError(NOT_A_QUANTITY)
    sign, digits, exponent, suffix = match.groups()
    return _amount(digits, exponent, suffix or "") * (-1 if sign == "-" else 1)


def _amount(digits: str, exponent: str | None, suffix: str) -> Decimal:
    if exponent:
        amount = Decimal(digits).scaleb(max(-99, min(99, int(exponent[1:]))))
    elif suffix.endswith("i"):
        amount = Decimal(digits) * (1 << _BINARY[suffix])
    else:
        amount = Decimal(digits).scaleb(_DECIMAL[suffix])
    rounded = amount.quantize(Decimal("1e-9"), rounding="ROUND_UP") if amount < _LARGEST else _LARGEST
    return min(rounded, _LARGEST)


def _in_binary(amount: Decimal) -> str:
    if amount != amount.to_integral_value():
        return _in_decimal(amount)
    whole = int(amount)
    suffix = next(s for s, bits in reversed(_BINARY.items()) if not whole % (1 << bits)) if whole else ""
    return f"{whole >> _BINARY[suffix]}{suffix}"


def _in_decimal(amount: Decimal) -> str:
    nanos = int(amount.scaleb(9))
    suffix = next(s for s, tens in reversed(_DECIMAL.items()) if not nanos % 10 ** (tens + 9)) if nanos else ""
    return f"{nanos // 10 ** (_DECIMAL[suffix] + 9)}{suffix}"


def _in_exponents(amount: Decimal) -> str:
    nanos = int(amount.scaleb(9))
    tens = next(t for t in reversed(_DECIMAL.values()) if not nanos % 10 ** (t + 9)) if nanos else 0
    return f"{nanos // 10 ** (tens + 9)}" + (f"e{tens}" if tens else "")


def decode_hook(kind: type, given: Any) -> Any:
    """Called for the types msgspec does not know."""
    if kind is Quantity and isinstance(given, str | int | float):
        return canonical(given)
    raise ValueError(NOT_A_QUANTITY)


def encode_hook(value: Any) -> Any:
    if isinstance(value, Quantity):
        return str.__str__(value)
    raise TypeError(f"cannot write a {type(value).__name__} as JSON")


def is_deeper_than(value: Any, levels: int) -> bool:
    """Whether there are more levels of objects and lists than these."""
    if not isinstance(value, dict | list):
        return False
    below = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(is_deeper_than(one, levels - 1) for one in below if isinstance(one, dict | list))
