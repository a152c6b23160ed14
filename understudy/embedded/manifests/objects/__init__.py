"""Objects of every new cluster besides definitions: a file for each purpose,
with a List of them in the order they are to be made.
"""

from importlib import resources
from typing import Any

from understudy.objects.resources import CLUSTER_TRAINING_RUNTIMES, CONFIG_MAPS, NAMESPACES
from understudy.objects.yaml_reader import load_one
from understudy.ports import Ref

Document = dict[str, Any]
_KINDS = {resource.kind: resource for resource in (CLUSTER_TRAINING_RUNTIMES, CONFIG_MAPS, NAMESPACES)}


def bundled_objects() -> list[tuple[Ref, Document]]:
    """Each object with its Ref."""
    files = (file for file in resources.files(__name__).iterdir() if file.name.endswith(".yaml"))
    lists = [load_one(file.read_text()) for file in sorted(files, key=lambda each: each.name)]
    return [(_place(document), document) for each in lists for document in each["items"]]


def _place(document: Document) -> Ref:
    meta = document["metadata"]
    return Ref(_KINDS[document["kind"]], meta.get("namespace", ""), meta["name"])
