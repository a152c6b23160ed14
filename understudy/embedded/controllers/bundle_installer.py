"""Installs the bundled manifests into a cluster: definitions of custom resources, and a few objects."""

import hashlib
import logging
from functools import partial
from http import HTTPStatus
from typing import Any

import msgspec

from understudy.control.concurrency import run_all
from understudy.embedded.manifests.definitions import bundled_definitions
from understudy.embedded.manifests.objects import bundled_objects
from understudy.objects.resources import DEFINITIONS
from understudy.objects.yaml_reader import load_one
from understudy.ports import Clock, Cluster, PatchForm, Ref, Refused, Unreachable

log = logging.getLogger(__name__)

DIGEST = "understudy.dev/definition"  # the digest of the manifest; an object without it was not installed from here
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0

Document = dict[str, Any]


async def install_definitions(cluster: Cluster, clock: Clock) -> None:
    """Creates missing definitions and updates those of an earlier release. Waits until the cluster answers."""
    found = [(Ref(DEFINITIONS, name=name), load_one(text)) for name, text in bundled_definitions().items()]
    await run_all(partial(_bring, cluster, clock, ref, document) for ref, document in found)


async def install_objects(cluster: Cluster, clock: Clock) -> None:
    """Creates missing objects, one after the other. A deleted object is created again at the next start."""
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
            if error.code < HTTPStatus.INTERNAL_SERVER_ERROR:
                return
        await clock.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)


async def _ensure(cluster: Cluster, ref: Ref, document: Document) -> None:
    edition = hashlib.sha256(msgspec.json.encode(document, order="deterministic")).hexdigest()[:16]
    try:
        known = msgspec.json.decode(await cluster.get(ref))
    except Refused as error:
        if error.code != HTTPStatus.NOT_FOUND:
            raise
        await cluster.create(Ref(ref.resource, ref.namespace), _noted(document, edition))
        return
    ours = known["metadata"].get("annotations", {}).get(DIGEST)
    if ours is not None and ours != edition:
        await cluster.patch(ref, _noted(document, edition), form=PatchForm.MERGE)


def _noted(document: Document, edition: str) -> Document:
    meta = document["metadata"]
    return {**document, "metadata": {**meta, "annotations": {**meta.get("annotations", {}), DIGEST: edition}}}
