"""The parser of the command line into a plain tree: verbs, their options, and what may stand where."""

import argparse
import enum
from collections.abc import Iterator
from typing import Any

import msgspec

from understudy.cli.job_types import TYPES
from understudy.cli.options import VerbParser

PROGRAM = "understudy"


class Source(enum.Enum):
    """Where the words for a place come from."""

    NOTHING = "nothing"  # any text
    FILES = "files"
    JOBS = "jobs"
    NODES = "nodes"


_SOURCES = {"FILE": Source.FILES, "DIR": Source.FILES, "JOB": Source.JOBS, "NODE": Source.NODES}


class Place(msgspec.Struct, frozen=True):
    """What may be written in one place: one of these words, or something the source knows."""

    words: tuple[str, ...] = ()
    source: Source = Source.NOTHING


class Option(msgspec.Struct, frozen=True):
    names: tuple[str, ...]  # -T, --type
    about: str
    value: Place | None  # None: it takes none


class Verb(msgspec.Struct, frozen=True):
    """One node of the tree. Its path is how it is written: `/node/list`."""

    path: str
    about: str = ""
    options: tuple[Option, ...] = ()
    place: Place = Place()  # what its arguments may be
    verbs: tuple["Verb", ...] = ()

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def flags(self) -> tuple[str, ...]:
        return tuple(name for option in self.options for name in option.names)

    def every(self) -> Iterator["Verb"]:
        yield self
        for verb in self.verbs:
            yield from verb.every()


def tree_of(parser: argparse.ArgumentParser, path: str = "", about: str = "") -> Verb:
    if isinstance(parser, VerbParser):
        parser.load()
    options, verbs = [], []
    place = Place()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            verbs = [tree_of(part, f"{path}/{name}", summary) for name, part, summary in _parts(action)]
        elif action.option_strings:
            if action.help != argparse.SUPPRESS:
                options.append(Option(tuple(action.option_strings), _about(parser, action), _value(action)))
        elif place == Place():
            place = _place(action)
    return Verb(path, about, tuple(options), place, tuple(verbs))


def _parts(action: "argparse._SubParsersAction[Any]") -> Iterator[tuple[str, argparse.ArgumentParser, str]]:
    """Aliases share the parser of the name they stand for, and its summary."""
    summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
    first: dict[int, str] = {}
    for name, part in action.choices.items():
        known = first.setdefault(id(part), name)
        yield name, part, summaries.get(known, "")


def _about(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    text = parser._get_formatter()._expand_help(action) if action.help else ""
    return " ".join(text.split())


def _value(action: argparse.Action) -> Place | None:
    return None if action.nargs == 0 else _place(action)


def _place(action: argparse.Action) -> Place:
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    if action.choices is not None:
        return Place(tuple(str(choice) for choice in action.choices))
    if metavar == "TYPE" and "--type" in action.option_strings:
        return Place(tuple(names[0] for names in TYPES.values()))
    return Place(source=_SOURCES.get(metavar, Source.NOTHING))
