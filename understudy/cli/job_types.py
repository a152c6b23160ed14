"""The types of jobs as people write them after -T: Arena's short names and the full ones, into kinds."""

from understudy.cli.errors import BadInput, suggestion
from understudy.kinds.registry import KINDS

TYPES = {kind.name: kind.names for kind in KINDS.values()}


def kind_named(wanted: str) -> str:
    for kind, names in TYPES.items():
        if wanted.lower() in names:
            return kind
    known = [name for names in TYPES.values() for name in names]
    raise BadInput(f"--type {wanted}: no such type of job; {suggestion(wanted, known, 'there are')}")
