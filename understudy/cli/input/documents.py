"""Turns files, directories and stdin into documents: one Kubernetes object each, with the place it was read from.

YAML with any number of documents, JSON, and `List` objects as `kubectl get -o yaml` writes them.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from understudy.cli.errors import BadInput, one_line

STDIN = "-"
TOO_DEEP = "nested too deeply for a Kubernetes object; is it generated, or does an anchor refer to itself?"
SUFFIXES = (".yaml", ".yml", ".json")


class Document(msgspec.Struct, frozen=True):
    source: str  # the file as the user named it, or 'stdin'
    number: int  # counted from 1 within the source
    line: int
    value: dict[str, object]

    @property
    def place(self) -> str:
        return f"{self.source}: document {self.number} (line {self.line})"


class Loaded(msgspec.Struct, frozen=True):
    line: int
    value: object  # None: an empty document
    item_lines: tuple[int, ...] = ()  # where each element of its `items` begins, where that is known


class Text(msgspec.Struct, frozen=True):
    source: str
    text: str


def read(names: Iterable[str]) -> list[Document]:
    """Every object in the named files, in order. Directories give their YAML and JSON files, sorted by name."""
    documents = [document for text in _texts(names) for document in parse(text)]
    if not documents:
        raise BadInput(f"{', '.join(names)}: there is no object in it; expected Kubernetes objects as YAML or JSON")
    return documents


def mappings(text: Text) -> list[dict[str, object]]:
    """The documents of a text that holds settings rather than objects."""
    values = [loaded.value for loaded in _values(text) if loaded.value is not None]
    if not all(isinstance(value, dict) for value in values):
        raise BadInput(f"{text.source}: expected `key: value` lines")
    return [value for value in values if isinstance(value, dict)]


def parse(text: Text) -> list[Document]:
    items = [item for loaded in _values(text) if loaded.value is not None for item in _unlisted(text.source, loaded)]
    return [Document(text.source, number, line, value) for number, (line, value) in enumerate(items, start=1)]


def _texts(names: Iterable[str]) -> Iterator[Text]:
    seen: set[str] = set()
    for name in names:
        for path in _files(name):
            if path in seen:
                raise BadInput(f"{_titled(path)}: given twice; name it once")
            seen.add(path)
            yield Text(_titled(path), load_text(path))


def _titled(path: str) -> str:
    return "stdin" if path == STDIN else path


def _files(name: str) -> list[str]:
    if name == STDIN or not Path(name).is_dir():
        return [name]
    files = sorted(p for p in Path(name).iterdir() if p.suffix in SUFFIXES and p.is_file() and p.name[0] != ".")
    if not files:
        raise BadInput(f"{name}: the directory has no .yaml, .yml or .json file in it")
    return [str(path) for path in files]


def load_text(path: str) -> str:
    try:
        data = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
        return data.decode("utf-8-sig")
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file; check the path") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{_titled(path)}: not text in UTF-8 (byte {error.start}); expected YAML or JSON") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from None


def _values(text: Text) -> list[Loaded]:
    try:
        return _json_values(text) if text.text.lstrip()[:1] == "{" else _yaml_values(text)
    except RecursionError:
        raise BadInput(f"{text.source}: {TOO_DEEP}") from None


def _json_values(text: Text) -> list[Loaded]:
    """Reads JSON objects, one or several in a row, as `jq` and `kubectl` print them. Flow-style YAML is left to the
    YAML reader."""
    decoder = json.JSONDecoder(object_pairs_hook=_unique_pairs)
    values: list[Loaded] = []
    at, line, counted = _next_token(text.text, 0), 1, 0
    while at < len(text.text):
        line, counted = line + text.text.count("\n", counted, at), at
        try:
            value, end = decoder.raw_decode(text.text, at)
        except json.JSONDecodeError as error:
            if not text.source.endswith(".json") and not values:
                return _yaml_values(text)
            raise BadInput(f"{text.source}: line {error.lineno}: not JSON: {error.msg.lower()}") from None
        except _TwiceError as error:
            raise BadInput(f"{text.source}: document at line {line}: {error}") from None
        values.append(Loaded(line, value))
        at = _next_token(text.text, end)
    return values


def _next_token(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


class _TwiceError(Exception):
    """A key stands twice in one mapping; the reader would silently lose one of the values."""


def _unique_pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _TwiceError(f"{twice}: the key stands twice in one mapping; remove one of them")
    return found


def _yaml_values(text: Text) -> list[Loaded]:
    import yaml  # costs a fifth of the start-up, and JSON does without

    from understudy.objects.yaml_reader import DuplicateKey, ExcessiveYaml, load_all

    try:
        return [Loaded(*loaded) for loaded in load_all(text.text)]
    except DuplicateKey as error:
        raise BadInput(f"{text.source}: line {error.line}: {error}") from None
    except ExcessiveYaml as error:
        raise BadInput(f"{text.source}: line {error.line}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise BadInput(_yaml_complaint(text.source, error)) from None


def _yaml_complaint(source: str, error: Exception) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return f"{source}: {where}not YAML: {one_line(str(problem))}"


def _unlisted(source: str, loaded: Loaded) -> Iterator[tuple[int, dict[str, object]]]:
    """The items of a `List` (or PodList, NodeList …), else the object itself. Items of typed lists get their kind."""
    value = loaded.value
    if not isinstance(value, dict):
        shown = one_line(str(value))[:40]
        raise BadInput(f"{source}: line {loaded.line}: {shown!r} is no object; expected apiVersion, kind and metadata")
    kind = value.get("kind")
    if not isinstance(kind, str) or not kind.endswith("List") or "items" not in value:
        yield loaded.line, value
        return
    items = value["items"] or []
    if not isinstance(items, list):
        raise BadInput(f"{source}: line {loaded.line}: {kind}: items: expected a list of objects")
    implied = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List")} if kind != "List" else {}
    lines = loaded.item_lines or (loaded.line,) * len(items)
    for number, (line, item) in enumerate(zip(lines, items, strict=True)):
        if not isinstance(item, dict):
            raise BadInput(f"{source}: line {line}: {kind}: items[{number}]: expected an object")
        yield from _unlisted(source, Loaded(line, {**implied, **item}))
