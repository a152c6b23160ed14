"""Turns the moments at which changes of pods were seen into the steps of a swap."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from bench.embedded.api_measures import quantile
from understudy.model import incidents as records

# In the order in which they come. Each ends when it is true of the last pod it is about.
STEPS = ("detected", "fenced", "created", "victims_out", "bound", "running", "rendezvous")

Moments = dict[str, float]  # step -> milliseconds since the fault


class Trace(msgspec.Struct):
    """One pod: the moments at which each change of it was first seen, by the clock of the observer."""

    name: str
    gang: str
    place: tuple[str, str]
    node: str = ""
    added: float | None = None
    bound: float | None = None
    running: float | None = None
    disrupted: float | None = None
    leaving: float | None = None
    gone: float | None = None  # or ended: what it held is free

    @property
    def first_sign(self) -> float | None:
        return _first((self.disrupted, self.leaving, self.gone))

    @property
    def fenced(self) -> float | None:
        return _first((self.leaving, self.gone))


class Incident(msgspec.Struct, frozen=True):
    failed_at: float
    nodes: Sequence[float]  # when each of the failed nodes was seen to be unwell, where it was
    failed: Sequence[Trace]
    replacements: Sequence[Trace]
    victims: Sequence[Trace] = ()

    def moments(self) -> Moments:
        """Steps that were not seen are left out."""
        detected = _first((*self.nodes, *(trace.first_sign for trace in self.failed)))
        ends = {
            "detected": detected,
            "fenced": _last(trace.fenced for trace in self.failed),
            "created": _last(trace.added for trace in self.replacements),
            "victims_out": _last(trace.gone for trace in self.victims),
            "bound": _last(trace.bound for trace in self.replacements),
            "running": _last(trace.running for trace in self.replacements),
        }
        return {step: (at - self.failed_at) * 1e3 for step, at in ends.items() if at is not None}


def _first(moments: Iterable[float | None]) -> float | None:
    return min((at for at in moments if at is not None), default=None)


def _last(moments: Iterable[float | None]) -> float | None:
    return max((at for at in moments if at is not None), default=None)


RECORDED = ("detected", "decided", "victims_out", "seated", "running")  # steps of the cluster's own records


def recorded(record: records.Incident, failed_at: float) -> Moments:
    """The steps as the cluster itself has written them down; `failed_at` in seconds since 1970."""
    ends = {step: record.at(step) for step in RECORDED}
    return {step: (at - failed_at) * 1e3 for step, at in ends.items() if at is not None}


def total(moments: Moments) -> float:
    """The moment at which the swap was complete."""
    return moments["rendezvous"] if "rendezvous" in moments else moments["running"]


def spread(values: Iterable[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {name: round(quantile(ordered, part), 1) for name, part in (("p50_ms", 0.5), ("p99_ms", 0.99))}


def by_step(incidents: Sequence[Mapping[str, float]], steps: Sequence[str] = STEPS) -> dict[str, dict[str, float]]:
    """For each step, the time since the fault, and `took_`: the time since the step before it."""
    found = {}
    for number, step in enumerate(steps):
        seen = [moments for moments in incidents if step in moments]
        if seen:
            took = spread(moments[step] - _before(steps[:number], moments, moments[step]) for moments in seen)
            found[step] = {**spread(m[step] for m in seen), **{f"took_{name}": ms for name, ms in took.items()}}
    return found


def _before(steps: Iterable[str], moments: Mapping[str, float], at: float) -> float:
    """Pods overtake each other, so a step may be done for all before the one it follows on is."""
    return min(max((moments[step] for step in steps if step in moments), default=0.0), at)
