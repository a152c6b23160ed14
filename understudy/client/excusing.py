"""Pods of a batch Job that go for no fault of its own: taken off the Job's books, before they go.

The controller of Jobs counts every pod that is deleted as one that failed: it spends the backoffLimit, and makes the
replacement only after ten seconds, doubled for each further pod that went, up to ten minutes. What it has to count it
knows by a finalizer on the pod. Without that the pod is none of its business any more, and it makes another at once.
"""

import msgspec

from understudy.ports import Cluster, Departure, Ref, Refused

TRACKING = "batch.kubernetes.io/job-tracking"
ATTEMPTS = 3
CONFLICT = 409
_ENDED = ("Succeeded", "Failed")


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    uid: str = ""
    resource_version: str = ""


class _Status(msgspec.Struct, frozen=True):
    phase: str = ""


class _Pod(msgspec.Struct, frozen=True):
    metadata: _Meta
    status: _Status = _Status()


_pod = msgspec.json.Decoder(_Pod).decode


async def excuse(cluster: Cluster, ref: Ref, departure: Departure) -> None:
    """A pod that has ended by itself stays on the books: what it ended with counts."""
    version = departure.excused
    for _ in range(ATTEMPTS):
        metadata = {"uid": departure.uid, "resourceVersion": version, "$deleteFromPrimitiveList/finalizers": [TRACKING]}
        try:
            await cluster.patch(ref, {"metadata": metadata})
            return
        except Refused as error:
            if error.code != CONFLICT:
                raise
        found = _pod(await cluster.get(ref))
        if found.metadata.uid != departure.uid or found.status.phase in _ENDED:
            return
        version = found.metadata.resource_version
