"""What deploy/ ships, as values."""

from pathlib import Path
from typing import Any

import yaml

Document = dict[str, Any]

DEPLOY = Path(__file__).parents[2] / "deploy"
KUSTOMIZE = DEPLOY / "kustomize"
CHART = DEPLOY / "helm" / "understudy"


def documents(path: Path) -> list[Document]:
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def plain() -> list[Document]:
    """The manifests of the kustomization, before anything is made of them."""
    files = [
        path for path in sorted(KUSTOMIZE.rglob("*.yaml")) if path.name not in ("kustomization.yaml", "understudy.yaml")
    ]
    return [document for path in files for document in documents(path)]


def the(kind: str, name: str = "understudy") -> Document:
    [found] = [one for one in plain() if (one["kind"], one["metadata"]["name"]) == (kind, name)]
    return found
