"""--config-file: files of this machine into ConfigMaps, one a folder, and into mounts that show them to pods."""

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from understudy.cli.complaint import BadInput
from understudy.cli.submit.values import Mounted
from understudy.cli.submit.wish import Document, Wish

LARGEST = 1024 * 1024  # bytes in one ConfigMap
_DIGITS = 15


def mounts(wish: Wish) -> tuple[list[Document], list[Document]]:
    """(volumes, mounts). Files are mounted one by one: what else is in their folder stays to be seen."""
    volumes, places = [], []
    for number, (folder, files) in enumerate(sorted(_by_folder(wish).items())):
        volume = f"config-{number}"
        volumes.append({"name": volume, "configMap": {"name": _name(wish, folder)}})
        for file in files:
            sub_path = PurePosixPath(file.path).name
            places.append({"name": volume, "mountPath": file.path, "subPath": sub_path, "readOnly": True})
    return volumes, places


def documents(wish: Wish, labels: Mapping[str, str]) -> list[Document]:
    made = []
    for folder, files in sorted(_by_folder(wish).items()):
        content = _content(files)
        metadata = {"name": _name(wish, folder), "labels": dict(labels)}
        made.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **content})
    return made


def _by_folder(wish: Wish) -> dict[str, list[Mounted]]:
    found: dict[str, list[Mounted]] = {}
    for file in dict.fromkeys(wish.config_file):
        found.setdefault(str(PurePosixPath(file.path).parent), []).append(file)
    return found


def _name(wish: Wish, folder: str) -> str:
    digest = hashlib.md5(folder.encode(), usedforsecurity=False).hexdigest()
    return f"{wish.name}-{digest[:_DIGITS]}"


def _content(files: list[Mounted]) -> Document:
    text: dict[str, str] = {}
    binary: dict[str, str] = {}
    size = 0
    for file in files:
        name = PurePosixPath(file.path).name
        data = _read(file)
        size += len(data)
        if size > LARGEST:
            raise BadInput(f"--config-file {file.source}: more than 1 MiB for one folder; use --data instead")
        try:
            text[name] = data.decode()
        except UnicodeDecodeError:
            binary[name] = base64.b64encode(data).decode()
    return {key: value for key, value in (("data", text), ("binaryData", binary)) if value}


def _read(file: Mounted) -> bytes:
    try:
        return Path(file.source).read_bytes()
    except OSError as error:
        raise BadInput(f"--config-file {file.source}: {(error.strerror or str(error)).lower()}") from None
