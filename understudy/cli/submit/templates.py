"""The pod templates of a job of any kind, and what they refer to."""

from collections.abc import Iterator
from typing import Any

from understudy.cli.submit.wish import Document


def templates(value: Any, path: str = "") -> Iterator[tuple[str, Document]]:
    """Every pod template in the document, with where it stands."""
    if isinstance(value, dict):
        spec = value.get("spec")
        if path.endswith("template") and isinstance(spec, dict) and isinstance(spec.get("containers"), list):
            yield path, value
            return
        for key, inner in value.items():
            yield from templates(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from templates(inner, f"{path}[{number}]")


def priority_classes(document: Document) -> list[str]:
    """Named by the templates, each once."""
    named = (template["spec"].get("priorityClassName") for _, template in templates(document))
    return list(dict.fromkeys(name for name in named if isinstance(name, str) and name))


def claims(document: Document) -> list[str]:
    found: dict[str, None] = {}
    for _, template in templates(document):
        volumes = template["spec"].get("volumes")
        for volume in volumes if isinstance(volumes, list) else ():
            claim = volume.get("persistentVolumeClaim") if isinstance(volume, dict) else None
            if isinstance(claim, dict) and isinstance(claim.get("claimName"), str):
                found[claim["claimName"]] = None
    return list(found)


def images(document: Document) -> set[Any]:
    return {
        container.get("image")
        for _, template in templates(document)
        for container in template["spec"]["containers"]
        if isinstance(container, dict)
    }
