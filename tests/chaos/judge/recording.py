"""What is judged of a chaos run, into the files of a folder and back: a changed judge can be tried on a kept run."""

from pathlib import Path

import msgspec

from tests.chaos.fault_schedule import Fault
from tests.chaos.judge.case import Case
from tests.chaos.judge.revision_times import Stamp, StoreClock
from tests.chaos.ledger import Line
from tests.chaos.observer import History
from tests.chaos.users import Submission


class _Recording(msgspec.Struct):
    """A case without its clock, which is made of the stamps."""

    history: History
    ledger: list[Line]
    stamps: list[Stamp]
    submitted: dict[str, Submission]
    faults: list[Fault]
    ended: float
    cordons: list[tuple[str, float]]


def write(case: Case, folder: Path) -> None:
    recorded = _Recording(
        case.history,
        list(case.ledger),
        case.clock.stamps,
        dict(case.submitted),
        list(case.faults),
        case.ended,
        list(case.cordons),
    )
    for name in _Recording.__struct_fields__:
        (folder / f"{name}.json").write_bytes(msgspec.json.encode(getattr(recorded, name)))


def read(folder: Path) -> Case:
    fields = [f'"{name}":'.encode() + (folder / f"{name}.json").read_bytes() for name in _Recording.__struct_fields__]
    recorded = msgspec.json.decode(b"{" + b",".join(fields) + b"}", type=_Recording)
    return Case(
        recorded.history,
        recorded.ledger,
        StoreClock(recorded.stamps),
        recorded.submitted,
        recorded.faults,
        recorded.ended,
        recorded.cordons,
    )
