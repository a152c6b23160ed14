"""Whether a text matches a regular expression, in time that grows with its length only. Python's own engine can be made
to run for ever by a pattern and a short text; these patterns come from whoever may apply a definition."""

from functools import lru_cache

import msgspec

from understudy.embedded.schema.custom.regexes import (
    Assertion,
    BadPattern,
    Chars,
    Choice,
    Repeat,
    Sequence,
    Tree,
    parse,
)
from understudy.embedded.schema.custom.work_budget import WorkBudget

MAX_STATES = 5_000
_MOST_REMEMBERED = 100_000  # states, in all steps together
_NOWHERE, _WORD, _OTHER = 0, 1, 2  # what is beside a place in the text: its edge, a word character, another one


class _Step(msgspec.Struct):
    """A state of the automaton: goes on after one of `chars`, at once where `asserts` holds, or at once anyway."""

    chars: Chars | None = None
    asserts: str = ""
    then: tuple[int, ...] = ()


class Pattern:
    """All states the text could have led to are followed side by side. Steps once taken are remembered."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._steps: list[_Step] = [_Step()]  # the first is the end: reached, the text matches
        self._start = self._build(parse(text), 0)
        self._weight = 0
        self._remembered: dict[tuple[frozenset[int], int, str], frozenset[int] | None] = {}

    def search(self, text: str, budget: WorkBudget) -> bool:
        """Whether the pattern matches anywhere in the text, as in Go."""
        budget.spend(1 + len(text))
        here = frozenset([self._start])
        before = _NOWHERE
        for char in (*text, ""):
            following = self._after(here, before, char, budget)
            if following is None:
                return True
            here = following | {self._start}
            before = _beside(char)
        return False

    def _after(self, here: frozenset[int], before: int, char: str, budget: WorkBudget) -> frozenset[int] | None:
        """Where one character leads; None once the pattern has matched."""
        key = (here, before, char)
        if key not in self._remembered:
            following = self._worked_out(here, before, char, budget)
            self._remember(key, following)
            return following
        return self._remembered[key]

    def _remember(self, key: tuple[frozenset[int], int, str], following: frozenset[int] | None) -> None:
        self._weight += 1 + len(key[0])
        if self._weight > _MOST_REMEMBERED:
            self._weight = 0
            self._remembered.clear()
        self._remembered[key] = following

    def _worked_out(self, here: frozenset[int], before: int, char: str, budget: WorkBudget) -> frozenset[int] | None:
        seen: set[int] = set()
        open_states = list(here)
        reached: set[int] = set()
        after = _beside(char)
        while open_states:
            state = open_states.pop()
            if state == 0:
                return None
            if state in seen:
                continue
            seen.add(state)
            step = self._steps[state]
            if step.chars is not None:
                if char and step.chars.matches(char):
                    reached.update(step.then)
            elif not step.asserts or _holds(step.asserts, before, after):
                open_states += step.then
        budget.spend(len(seen))
        return frozenset(reached)

    def _build(self, tree: Tree, then: int) -> int:
        """The state from which the tree leads on to `then`."""
        match tree:
            case Chars():
                return self._add(_Step(chars=tree, then=(then,)))
            case Assertion(kind=kind):
                return self._add(_Step(asserts=kind, then=(then,)))
            case Sequence(parts=parts):
                for part in reversed(parts):
                    then = self._build(part, then)
                return then
            case Choice(options=options):
                return self._add(_Step(then=tuple(self._build(option, then) for option in options)))
            case Repeat():
                return self._repeat(tree, then)

    def _repeat(self, tree: Repeat, then: int) -> int:
        if tree.most is None:
            loop = self._add(_Step())
            self._steps[loop].then = (self._build(tree.part, loop), then)
            then = loop
        else:
            for _ in range(tree.most - tree.least):
                then = self._add(_Step(then=(self._build(tree.part, then), then)))
        for _ in range(tree.least):
            then = self._build(tree.part, then)
        return then

    def _add(self, step: _Step) -> int:
        if len(self._steps) >= MAX_STATES:
            raise BadPattern("the pattern is too large")
        self._steps.append(step)
        return len(self._steps) - 1


@lru_cache(maxsize=256)
def compiled(text: str) -> Pattern:
    return Pattern(text)


def _beside(char: str) -> int:
    if not char:
        return _NOWHERE
    return _WORD if char.isascii() and (char.isalnum() or char == "_") else _OTHER


def _holds(kind: str, before: int, after: int) -> bool:
    match kind:
        case "start":
            return before == _NOWHERE
        case "end":
            return after == _NOWHERE
    at_edge = (before == _WORD) is not (after == _WORD)
    return at_edge if kind == "word" else not at_edge
