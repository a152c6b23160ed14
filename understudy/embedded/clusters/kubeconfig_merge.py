"""Merges the kubeconfig of a cluster into the user's own, and keeps all other entries."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from understudy.embedded.clusters.private_files import private_folder
from understudy.objects.yaml_reader import load_one

SECTIONS = ("clusters", "users", "contexts")


class _Loader(yaml.SafeLoader):
    """Reads timestamps as text, so that they are written back unchanged."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class CannotMerge(Exception):
    """The file was not changed; the message says why, in one line."""


def default_kubeconfig() -> Path:
    """The file that kubectl writes to."""
    named = [name for name in os.environ.get("KUBECONFIG", "").split(os.pathsep) if name]
    return Path(named[0]) if named else Path.home() / ".kube" / "config"


def merge_kubeconfig(source: Path, target: Path) -> str:
    """Adds the entries of `source` to `target`, replaces those of the same names, and makes its context the current
    one. Returns the context that was current before."""
    target = target.resolve()  # a link stays a link
    private_folder(target.parent)
    with _locked(target):
        theirs, ours = _read(target), _read(source)
        before = theirs.get("current-context") or ""
        for section in SECTIONS:
            theirs[section] = _joined(theirs.get(section) or [], ours[section], f"{target}: {section}")
        theirs |= {"apiVersion": "v1", "kind": "Config", "current-context": ours["current-context"]}
        _replace(target, yaml.safe_dump(theirs, sort_keys=False).encode())
    return str(before)


def _joined(theirs: Any, ours: list[dict[str, Any]], place: str) -> list[Any]:
    if not isinstance(theirs, list):
        raise CannotMerge(f"{place}: expected a list; correct the file first")
    names = {entry["name"] for entry in ours}
    return [entry for entry in theirs if not (isinstance(entry, dict) and entry.get("name") in names)] + ours


def _read(path: Path) -> dict[str, Any]:
    try:
        document = load_one(path.read_text("utf-8-sig"), _Loader)
    except FileNotFoundError:
        return {}
    except (OSError, yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise CannotMerge(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
    if document is not None and not isinstance(document, dict):
        raise CannotMerge(f"{path}: not a kubeconfig; correct the file first")
    return document or {}


@contextlib.contextmanager
def _locked(target: Path) -> Iterator[None]:
    """The lock that kubectl takes when it changes the file."""
    lock = target.with_name(f"{target.name}.lock")
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise CannotMerge(f"{lock} is there: another program is changing the file; if none is, remove it") from None
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


def _replace(target: Path, data: bytes) -> None:
    """Replaces the file atomically, and keeps its mode."""
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, target)
