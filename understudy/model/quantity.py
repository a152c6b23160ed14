"""Kubernetes quantities: turns "500m", "16Gi" or "1e3" into whole numbers, and those back into text for people."""

import re
from fractions import Fraction
from functools import lru_cache
from math import ceil

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_GRAMMAR = re.compile(r"([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:([eE][+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i)?)", re.ASCII)
_LARGEST = 2**63 - 1


@lru_cache(maxsize=65_536, typed=True)
def parse_quantity(text: str | int | float, resource: str) -> int:
    """The amount in thousandths for cpu and in whole units for everything else, rounded up."""
    per_unit = 1000 if resource == "cpu" else 1
    written = text if isinstance(text, str) else _written(text)
    if written.isascii() and written.isdigit():
        return _bounded(int(written) * per_unit, text)
    match = _GRAMMAR.fullmatch(written)
    if match is None:
        raise ValueError(f"{text!r} is not a quantity; write a number like 4, 500m, 1.5, 16Gi or 1e3")
    sign, digits, exponent, suffix = match.groups()
    amount = Fraction(digits) * _multiplier(exponent, suffix or "") * per_unit
    if sign == "-" and amount:
        raise ValueError(f"{text!r} is negative; a quantity must be 0 or more")
    return _bounded(ceil(amount), text)


def _written(number: int | float) -> str:
    if isinstance(number, bool):
        raise ValueError(f"{str(number).lower()} is not a quantity; write a number like 4, 500m or 16Gi")
    return str(number)


def _multiplier(exponent: str | None, suffix: str) -> Fraction:
    if exponent:
        return Fraction(10) ** int(exponent[1:])
    if suffix in _BINARY:
        return Fraction(2 ** _BINARY[suffix])
    return Fraction(10) ** _DECIMAL[suffix]


def _bounded(amount: int, text: str | int | float) -> int:
    if amount > _LARGEST:
        raise ValueError(f"{text!r} is too large; the largest quantity is 2^63-1")
    return amount


def format_quantity(amount: int, resource: str) -> str:
    if amount < 0:
        return "-" + format_quantity(-amount, resource)
    if resource == "cpu":
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if resource in ("memory", "ephemeral-storage", "storage") or resource.startswith("hugepages-"):
        return _in_binary(amount)
    return str(amount)


def _in_binary(amount: int) -> str:
    for suffix, bits in reversed(_BINARY.items()):
        if amount >= 1 << bits:
            whole, rest = divmod(amount, 1 << bits)
            return f"{whole}{suffix}" if not rest else f"{amount / (1 << bits):.1f}".removesuffix(".0") + suffix
    return str(amount)
