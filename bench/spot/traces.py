"""Traces of spot machines, of whatever form, into one: when which machine appears or disappears, in seconds."""

import csv
import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

DATA = Path(__file__).parents[3] / "shared" / "data"
PROBE_SECONDS, TICK_SECONDS = 600.0, 195.0


class Churn(msgspec.Struct, frozen=True, order=True):
    """Machines that disappear and appear at the same moment do so in this order."""

    at: float
    appears: bool
    machine: str


class BadTrace(Exception):
    """The trace cannot be read; the message names the line and what it should be."""


def read_bamboo(lines: Iterable[str]) -> list[Churn]:
    """`MILLISECONDS,add|remove,NODE` a line."""
    found = []
    for number, row in enumerate(csv.reader(lines), 1):
        if not row:
            continue
        if len(row) != 3 or not row[0].isdecimal() or row[1] not in ("add", "remove"):
            raise BadTrace(f"line {number}: {','.join(row)!r}: expected MILLISECONDS,add|remove,NODE")
        found.append(Churn(int(row[0]) / 1e3, row[1] == "add", row[2]))
    return sorted(found)


def read_counts(lines: Iterable[str], zone: str) -> list[Churn]:
    """The number of machines a zone gave at each probe. A lower count takes the machines that came last."""
    rows = [row for row in csv.DictReader(lines) if row.get("zone") == zone]
    counts = sorted((_moment(row["scheduled_at_pdt"]), int(row["created"])) for row in rows)
    if not counts:
        raise BadTrace(f"no probe of the zone {zone!r}")
    befores = [0, *(count for _, count in counts)]
    return sorted(
        Churn(at - counts[0][0], count > before, f"{zone}-{number}")
        for before, (at, count) in zip(befores, counts, strict=False)
        for number in range(min(before, count), max(before, count))
    )


def read_availability(lines: Iterable[str]) -> list[Churn]:
    """One machine for each zone, run-length coded: so many ticks in which it was available, or was not."""
    found, up = [], dict[str, bool]()
    rows = [(_moment(row["start_utc"]), row["zone_instance"], row["available"] == "1") for row in csv.DictReader(lines)]
    if not rows:
        raise BadTrace("no row")
    first = min(at for at, _, _ in rows)
    for at, machine, available in sorted(rows):
        if available != up.get(machine, False):
            found.append(Churn(at - first, available, machine))
        up[machine] = available
    return sorted(found)


def synthetic(machines: int = 16, hours: float = 12.0, seed: int = 1) -> list[Churn]:
    """Bursts of evictions, about one in twenty minutes and of two machines in the mean; another machine takes the
    place of a lost one within half an hour."""
    chance = random.Random(seed)
    alive, count = [f"machine-{number}" for number in range(machines)], machines
    found = [Churn(0.0, True, machine) for machine in alive]
    arrivals: list[float] = []
    now = chance.expovariate(1 / 1200)
    while now < hours * 3600:
        for at in [at for at in arrivals if at <= now]:
            arrivals.remove(at)
            alive.append(f"machine-{count}")
            found.append(Churn(at, True, alive[-1]))
            count += 1
        for _ in range(min(len(alive), 1 + min(5, int(chance.expovariate(1 / 1.6))))):
            found.append(Churn(now, False, alive.pop(chance.randrange(len(alive)))))
            arrivals.append(now + chance.uniform(60, 1800))
        now += chance.expovariate(1 / 1200)
    return sorted(found)


def _moment(text: str) -> float:
    return datetime.fromisoformat(text + "+00:00").timestamp()


def _file(*parts: str) -> Iterator[str]:
    with DATA.joinpath(*parts).open() as lines:
        yield from lines


_H100 = ("spot-skynomad-2025", "h100_gcp_16node_probe.csv")
TRACES: Mapping[str, Callable[[], list[Churn]]] = {
    "bamboo-p3": lambda: read_bamboo(_file("spot-bamboo", "p3-trace.csv")),
    "bamboo-g4dn": lambda: read_bamboo(_file("spot-bamboo", "g4dn-trace.csv")),
    "skynomad-h100": lambda: read_counts(_file(*_H100), "us-central1-b"),
    "skynomad-v100": lambda: read_availability(_file("spot-skynomad-2025", "v100_aws_1node_45d_rle.csv")),
    "synthetic": synthetic,
}


def read(name: str) -> list[Churn]:
    """A trace by its name, or a file in the form of Bamboo. Raises BadTrace."""
    try:
        return TRACES[name]() if name in TRACES else read_bamboo(Path(name).read_text().splitlines())
    except OSError as problem:
        raise BadTrace(f"{name}: {problem.strerror or problem}") from None


def sped_up(events: Iterable[Churn], factor: float) -> list[Churn]:
    return [msgspec.structs.replace(event, at=event.at / factor) for event in events]


def clipped(events: Sequence[Churn], names: Sequence[str]) -> list[Churn]:
    """The trace as so many machines live through it, under these names.

    Every machine of the trace takes the place that has been free for longest, so all places have the same share of what
    happens; the first of these places are kept. A place is an instance of a pool: another machine may fill it again.
    """
    free: deque[int] = deque(range(_most_at_once(events)))
    places: dict[str, int] = {}
    found = []
    for event in sorted(events):
        if event.appears:
            places[event.machine] = free.popleft()
        elif event.machine not in places:
            continue
        else:
            free.append(places[event.machine])
        place = places[event.machine] if event.appears else places.pop(event.machine)
        if place < len(names):
            found.append(msgspec.structs.replace(event, machine=names[place]))
    return found


def _most_at_once(events: Sequence[Churn]) -> int:
    alive, most = set[str](), 0
    for event in sorted(events):
        (alive.add if event.appears else alive.discard)(event.machine)
        most = max(most, len(alive))
    return most


def window(events: Sequence[Churn], begin: float, length: float) -> list[Churn]:
    """The events within this time, counted from its begin. Machines that exist then appear at 0."""
    alive: dict[str, None] = {}
    found = []
    for event in sorted(events):
        if event.at <= begin:
            if event.appears:
                alive[event.machine] = None
            else:
                alive.pop(event.machine, None)
        elif event.at <= begin + length:
            found.append(msgspec.structs.replace(event, at=event.at - begin))
    return [*(Churn(0.0, True, machine) for machine in alive), *found]


def busiest(events: Sequence[Churn], length: float) -> float:
    """The begin of the window with the most disappearances; of several the earliest."""
    gone = sorted(event.at for event in events if not event.appears)
    last = max((event.at for event in events), default=0.0)
    begins = [0.0, *(at - length / 20 for at in gone if at + length * 0.95 <= last)]
    return max((max(0.0, at) for at in begins), key=lambda at: (sum(at < one <= at + length for one in gone), -at))
