"""Converts the text behind a flag into a value: numbers, durations, quantities, pairs, tolerations, volumes.

What is wrong is said as argparse wants it, so that the complaint names the flag by itself.
"""

import re
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

import msgspec

from understudy.kinds.annotations import MAX_UNDERSTUDIES
from understudy.model.quantity import parse_quantity

LONGEST_NAME = 49  # what a controller adds to it must still fit into a label of 63
GPU = "nvidia.com/gpu"
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
# Not compiled here: every command reads this file, few read a flag.
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_CLAIM = r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?"
_PREFIX = r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?"
_NAME_PART = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_QUALIFIED = _PREFIX + _NAME_PART
_LABEL_VALUE = f"({_NAME_PART})?"
_VARIABLE = r"[-._a-zA-Z][-._a-zA-Z0-9]*"
_DURATION = r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s?)?"
_MOST = 2**31 - 1

Pair = tuple[str, str]


class Mount(msgspec.Struct, frozen=True):
    """The source and the path of a mount: a claim, a folder of the node, or a file of this machine."""

    source: str
    path: str


def _matched(pattern: str, text: str) -> re.Match[str] | None:
    return re.fullmatch(pattern, text, re.ASCII)


def job_name(text: str) -> str:
    if len(text) > LONGEST_NAME or not _matched(_LABEL, text):
        raise ArgumentTypeError(
            f"{text!r} is no name for a job; use lower-case letters, digits and dashes, {LONGEST_NAME} at most, "
            "with a letter or digit first and last"
        )
    return text


def count(text: str) -> int:
    """Reads a whole number, 0 or more."""
    return _whole(text, 0)


def understudies(text: str) -> int:
    """Reads the number of understudies, limited as the annotation is."""
    number = _whole(text, 0)
    if number > MAX_UNDERSTUDIES:
        raise ArgumentTypeError(f"{number} understudies are too many; {MAX_UNDERSTUDIES} at most can be held ready")
    return number


def positive(text: str) -> int:
    return _whole(text, 1)


def processes(text: str) -> str:
    """Reads how many processes a pod starts: a number, or a word that leaves it to the framework."""
    return text if text in ("auto", "cpu", "gpu") else str(_whole(text, 1))


def port(text: str) -> int:
    number = _whole(text, 1)
    if number > 65_535:
        raise ArgumentTypeError(f"{text} is no port; ports end at 65535")
    return number


def _whole(text: str, least: int) -> int:
    digits = text.strip()
    if not _matched(r"[-+]?\d+", digits) or not least <= int(digits) <= _MOST:
        raise ArgumentTypeError(f"{text!r} is not a whole number of {least} or more")
    return int(digits)


def seconds(text: str) -> int:
    """Reads a duration: `90`, `90s`, `5m`, `2h30m`, `7d`."""
    match = _matched(_DURATION, text.strip())
    if not text.strip() or match is None:
        raise ArgumentTypeError(f"{text!r} is no duration; write it like 90s, 5m, 2h30m or 7d")
    days, hours, minutes, rest = (int(part or 0) for part in match.groups())
    total = ((days * 24 + hours) * 60 + minutes) * 60 + rest
    if total > _MOST:
        raise ArgumentTypeError(f"{text!r} is longer than {_MOST} seconds")
    return total


def cpu(text: str) -> str:
    return _quantity(text, "cpu")


def memory(text: str) -> str:
    return _quantity(text, "memory")


def _quantity(text: str, resource: str) -> str:
    try:
        parse_quantity(text, resource)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
    return text


def variable(text: str) -> Pair:
    name, equals, value = text.partition("=")
    if not equals or not _matched(_VARIABLE, name):
        raise ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    return name, value


def label(text: str) -> Pair:
    key, value = _pair(text)
    if not _matched(_LABEL_VALUE, value):
        raise ArgumentTypeError(
            f"{text!r}: {value!r} cannot be the value of a label; use letters, digits, '-', '_' and '.', 63 at most"
        )
    return key, value


def annotation(text: str) -> Pair:
    return _pair(text)


def _pair(text: str) -> Pair:
    key, equals, value = text.partition("=")
    if not equals or not _matched(_QUALIFIED, key):
        raise ArgumentTypeError(f"{text!r} is not of the form KEY=VALUE, with a key such as app or example.com/app")
    return key, value


def label_key(text: str) -> str:
    if not _matched(_QUALIFIED, text):
        raise ArgumentTypeError(f"{text!r} is not the name of a node label, such as cloud.google.com/gke-nodepool")
    return text


def device(text: str) -> Pair:
    name, amount = _pair(text)
    if name == GPU:
        raise ArgumentTypeError(f"{GPU} is what --gpus asks for")
    return name, str(_whole(amount, 1))


def toleration(text: str) -> dict[str, Any]:
    """Reads `all`, or a taint as kubectl writes it: KEY[=VALUE][:EFFECT]; Arena's `,OPERATOR` may follow."""
    if text == "all":
        return {"operator": "Exists"}
    taint, comma, operator = text.partition(",")
    key_value, colon, effect = taint.partition(":")
    key, equals, value = key_value.partition("=")
    form = f"{text!r} is no toleration; write all, KEY, KEY:EFFECT, KEY=VALUE:EFFECT or KEY=VALUE:EFFECT,OPERATOR"
    if not _matched(_QUALIFIED, key) or not _matched(_LABEL_VALUE, value):
        raise ArgumentTypeError(form)
    if colon and effect not in EFFECTS:
        raise ArgumentTypeError(f"{form}; the effect is one of {', '.join(EFFECTS)}")
    if comma and operator not in ("Equal", "Exists"):
        raise ArgumentTypeError(f"{form}; the operator is Equal or Exists")
    if operator == "Exists" and value:
        raise ArgumentTypeError(f"{text!r}: Exists takes any value; leave {value!r} out, or write Equal")
    found = {"key": key, "operator": operator or ("Equal" if equals else "Exists"), "effect": effect, "value": value}
    return {field: given for field, given in found.items() if given}


def claim(text: str) -> Mount:
    name, _, path = text.partition(":")
    if not _matched(_CLAIM, name) or not _absolute(path):
        raise ArgumentTypeError(f"{text!r} is not of the form CLAIM:/PATH, such as training-data:/data")
    return Mount(name, path)


def folder(text: str) -> Mount:
    """A folder of the node. A single path is used in the node and in the container."""
    host, _, path = text.partition(":")
    if not _absolute(host) or not _absolute(path or host):
        raise ArgumentTypeError(f"{text!r} is not of the form /PATH or /PATH-ON-THE-NODE:/PATH")
    return Mount(host, path or host)


def file(text: str) -> Mount:
    """Reads a file of this machine, and the path at which pods see it."""
    here, _, path = text.partition(":")
    local = Path(here).expanduser().absolute()
    target = path or str(local)
    if not local.is_file():
        raise ArgumentTypeError(f"{here}: there is no such file on this machine")
    if not _absolute(target):
        raise ArgumentTypeError(f"{text!r}: {target!r} is no absolute path; write FILE:/PATH")
    return Mount(str(local), target)


def path(text: str) -> str:
    if not _absolute(text):
        raise ArgumentTypeError(f"{text!r} is no absolute path")
    return text.rstrip("/")


def _absolute(text: str) -> bool:
    return text.startswith("/") and text.rstrip("/") != "" and ".." not in Path(text).parts and ":" not in text
