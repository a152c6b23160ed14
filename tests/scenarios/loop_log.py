"""What the scheduling loop did according to its log: lines into victims and swaps."""

import re
from collections.abc import Iterable, Mapping

from tests.scenarios.worlds import History, Swapped, name_of

_ACTION = re.compile(r" INFO understudy\.control\.loop: (?P<what>.*)")
_PREEMPTED = re.compile(r"(?:preempt|take .+ from) (\S+)(?: \(\d+ pods?\))? for (\S+): ")
_SWAPPED = re.compile(r"swap (\S+): (.*)")
_MOVE = re.compile(r"(\S+) (?:\(no seat\)|\S+) -> (\S+) \((\w+)\)")


class LoopLog:
    """`places` maps all pods that ever existed to their slots."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self.history = History()
        self._places = places
        self._read = 0  # number of lines read

    def read(self, lines: Iterable[str]) -> None:
        """Takes the log from its beginning and skips what was read before."""
        for line in list(lines)[self._read :]:
            self._read += 1
            if (found := _ACTION.search(line)) is not None:
                self._note(found["what"])

    def _note(self, action: str) -> None:
        """Notes an action of a plan that was carried out."""
        if (found := _PREEMPTED.match(action)) is not None:
            self.history.victims.append((name_of(found[1]), name_of(found[2])))
        elif (found := _SWAPPED.match(action)) is not None:
            for move in _MOVE.findall(found[2]):
                self._note_swap(name_of(found[1]), *move)

    def _note_swap(self, job: str, pod: str, node: str, source: str) -> None:
        """A move spans several plans: the pod goes, another comes and is bound."""
        place = self._places.get(pod, pod)
        if not any((s.job, s.member, s.to_node) == (job, place, node) for s in self.history.swaps):
            self.history.swaps.append(Swapped(job, place, node, source))
