"""The custom resources this package brings along: their definitions, as files, into the cluster."""

import hashlib
import logging
from typing import Any

import msgspec
import yaml

from understudy.embedded.definitions import shipped
from understudy.objects.resources import DEFINITIONS
from understudy.ports import Clock, Cluster, PatchForm, Ref, Refused, Unreachable

log = logging.getLogger(__name__)

DIGEST = "understudy.dev/definition"  # which edition of ours it is; a definition without it is somebody else's
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0


async def define_kinds(cluster: Cluster, clock: Clock) -> None:
    """Missing ones are created, older editions of ours brought up to date. Waits until the cluster answers."""
    pause = FIRST_PAUSE
    for name, text in shipped().items():
        while True:
            try:
                await _define(cluster, name, text)
            except Unreachable:
                await clock.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                continue
            except Refused as error:
                log.error("%s cannot be defined: %s", name, error)
            break


async def _define(cluster: Cluster, name: str, text: str) -> None:
    ref = Ref(DEFINITIONS, name=name)
    edition = hashlib.sha256(text.encode()).hexdigest()[:16]
    try:
        known = msgspec.json.decode(await cluster.get(ref))
    except Refused as error:
        if error.code != 404:
            raise
        await cluster.create(Ref(DEFINITIONS), _noted(_read(text), edition))
        return
    ours = known["metadata"].get("annotations", {}).get(DIGEST)
    if ours is not None and ours != edition:
        document = _noted(_read(text), edition)
        change = {"metadata": document["metadata"], "spec": document["spec"]}
        await cluster.patch(ref, change, form=PatchForm.MERGE)


def _read(text: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(text)
    return document


def _noted(document: dict[str, Any], edition: str) -> dict[str, Any]:
    meta = document["metadata"]
    return {**document, "metadata": {**meta, "annotations": {**meta.get("annotations", {}), DIGEST: edition}}}
