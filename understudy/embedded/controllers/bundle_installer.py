"""What this package brings along, from files into the cluster: definitions of custom resources, and a few objects."""

import hashlib
import logging
from functools import partial
from typing import Any

import msgspec

from understudy.control.concurrency import run_all
from understudy.embedded.manifests.definitions import bundled_definitions
from understudy.embedded.manifests.objects import bundled_objects
from understudy.objects.resources import DEFINITIONS
from understudy.objects.yaml_reader import load_one
from understudy.ports import Clock, Cluster, PatchForm, Ref, Refused, Unreachable

log = logging.getLogger(__name__)

DIGEST = "understudy.dev/definition"  # which edition of ours it is; an object without it is somebody else's
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
IN_TROUBLE = 500  # from this code on it is the server's trouble, such as a full disk, and may pass

Document = dict[str, Any]


async def install_definitions(cluster: Cluster, clock: Clock) -> None:
    """Missing ones are created, older editions of ours brought up to date. Waits until the cluster answers."""
    found = [(Ref(DEFINITIONS, name=name), load_one(text)) for name, text in bundled_definitions().items()]
    await run_all(partial(_bring, cluster, clock, ref, document) for ref, document in found)


async def install_objects(cluster: Cluster, clock: Clock) -> None:
    """The same for objects, one after the other. One that somebody has deleted is back at the next start."""
    for ref, document in bundled_objects():
        await _bring(cluster, clock, ref, document)


async def _bring(cluster: Cluster, clock: Clock, ref: Ref, document: Document) -> None:
    pause = FIRST_PAUSE
    while True:
        try:
            await _ensure(cluster, ref, document)
            return
        except Unreachable:
            pass
        except Refused as error:
            log.error("%s %s cannot be made: %s", ref.resource.kind, ref.name, error)
            if error.code < IN_TROUBLE:
                return
        await clock.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)


async def _ensure(cluster: Cluster, ref: Ref, document: Document) -> None:
    edition = hashlib.sha256(msgspec.json.encode(document, order="deterministic")).hexdigest()[:16]
    try:
        known = msgspec.json.decode(await cluster.get(ref))
    except Refused as error:
        if error.code != 404:
            raise
        await cluster.create(Ref(ref.resource, ref.namespace), _noted(document, edition))
        return
    ours = known["metadata"].get("annotations", {}).get(DIGEST)
    if ours is not None and ours != edition:
        await cluster.patch(ref, _noted(document, edition), form=PatchForm.MERGE)


def _noted(document: Document, edition: str) -> Document:
    meta = document["metadata"]
    return {**document, "metadata": {**meta, "annotations": {**meta.get("annotations", {}), DIGEST: edition}}}
