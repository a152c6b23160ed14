"""Decodes recorded pages in a fresh process, by one way or another: CPU time, and the memory that the objects take.

A script for other interpreters too: beside `ours` it needs nothing of this project.
"""

import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Pages = dict[str, list[bytes]]
Decoder = Callable[[str], Callable[[bytes], Any]]  # of the plural, what turns one page into its objects


def ours(plural: str) -> Callable[[bytes], Any]:
    bulk_decoding = importlib.import_module("understudy.objects.bulk_decoding")
    [decoder] = [decoder for resource, decoder in bulk_decoding.BULK_DECODERS.items() if resource.plural == plural]
    return lambda page: decoder.page(page).objects


def dicts(_: str) -> Callable[[bytes], Any]:
    """Plain dicts, by the fastest decoder there is where it is installed."""
    try:
        loads = importlib.import_module("orjson").loads
    except ImportError:
        loads = importlib.import_module("msgspec").json.decode
    return lambda page: loads(page)["items"]


def standard(_: str) -> Callable[[bytes], Any]:
    return lambda page: json.loads(page)["items"]


def lightkube(plural: str) -> Callable[[bytes], Any]:
    core = importlib.import_module("lightkube.resources.core_v1")
    kind = {"pods": core.Pod, "nodes": core.Node}[plural]
    return lambda page: [kind.from_dict(item) for item in json.loads(page)["items"]]


def kubernetes(plural: str) -> Callable[[bytes], Any]:
    client = importlib.import_module("kubernetes.client")
    api = client.ApiClient()

    class Answer:
        def __init__(self, page: bytes) -> None:
            self.data = page.decode()

    kind = {"pods": "V1PodList", "nodes": "V1NodeList"}[plural]

    def decoded(page: bytes) -> Any:
        try:
            return api.deserialize(Answer(page), kind).items
        except TypeError:  # newer ones take the text
            return api.deserialize(page.decode(), kind, "application/json").items

    return decoded


WAYS: dict[str, Decoder] = {
    "ours": ours, "dicts": dicts, "standard": standard, "lightkube": lightkube, "kubernetes": kubernetes,
}  # fmt: skip


def resident() -> float:
    """The resident memory of this process in megabytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def main(way: str, folder: Path, share: int) -> None:
    """Decodes one of every `share` pages: a slow way needs ten minutes for all pages, and one for a tenth of them."""
    result: dict[str, float] = {"objects": 0}
    kept = []
    for plural in ("pods", "nodes"):
        decode = WAYS[way](plural)
        before, spent = resident(), 0.0
        for path in sorted(folder.glob(f"{plural}-*.json"))[::share]:
            page = path.read_bytes()
            began = time.process_time()
            objects = decode(page)
            spent += time.process_time() - began
            kept.append(objects)
            result["objects"] += len(objects)
            del page
        result[f"{plural}_cpu_seconds"] = spent * share
        result[f"{plural}_mb"] = (resident() - before) * share
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
