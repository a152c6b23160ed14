"""Metrics in the text format of Prometheus: counters, histograms, and gauges that call a function for their value."""

import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

Labels = tuple[str, ...]
Samples = Iterable[tuple[Labels, float]]


class Metric(Protocol):
    def lines(self) -> Iterator[str]: ...


class _NamedMetric:
    kind = ""

    def __init__(self, name: str, about: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        self.about = about
        self.labels = tuple(labels)

    def head(self) -> Iterator[str]:
        yield f"# HELP {self.name} {self.about}"
        yield f"# TYPE {self.name} {self.kind}"

    def line(self, values: Labels, value: float, suffix: str = "", more: str = "") -> str:
        pairs = [f'{name}="{_escaped(text)}"' for name, text in zip(self.labels, values, strict=True)]
        pairs += [more] if more else []
        return f"{self.name}{suffix}{'{' + ','.join(pairs) + '}' if pairs else ''} {_number(value)}"


class Counter(_NamedMetric):
    kind = "counter"

    def __init__(self, name: str, about: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, about, labels)
        self._values: dict[Labels, float] = {} if labels else {(): 0.0}

    def add(self, *values: str, by: float = 1.0) -> None:
        self._values[values] = self._values.get(values, 0.0) + by

    def lines(self) -> Iterator[str]:
        yield from self.head()
        for values, value in sorted(self._values.items()):
            yield self.line(values, value)


class CallbackMetric(_NamedMetric):
    """A gauge, or a counter kept elsewhere: its samples are computed when the page is requested."""

    def __init__(
        self, name: str, about: str, ask: Callable[[], Samples], labels: Sequence[str] = (), kind: str = "gauge"
    ) -> None:
        super().__init__(name, about, labels)
        self.kind = kind
        self._ask = ask

    def lines(self) -> Iterator[str]:
        yield from self.head()
        for values, value in sorted(self._ask()):
            yield self.line(values, value)


class Histogram(_NamedMetric):
    kind = "histogram"

    def __init__(self, name: str, about: str, bounds: Sequence[float]) -> None:
        super().__init__(name, about)
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(self._bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect.bisect_left(self._bounds, value)] += 1
        self._sum += value

    def lines(self) -> Iterator[str]:
        yield from self.head()
        total = 0
        for bound, count in zip((*self._bounds, float("inf")), self._counts, strict=True):
            total += count
            yield self.line((), total, "_bucket", f'le="{_number(bound)}"')
        yield self.line((), self._sum, "_sum")
        yield self.line((), total, "_count")


def exposition(figures: Iterable[Metric]) -> str:
    return "".join(f"{line}\n" for figure in figures for line in figure.lines())


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(float(value))
