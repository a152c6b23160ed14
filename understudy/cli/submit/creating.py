"""Makes a job and what belongs to it, all or nothing, and tells what was made.

Everything is tried first without storing it. What belongs to the job is owned by it, so it goes when the job goes.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Sequence

import msgspec

from understudy.cli.complaint import BadInput
from understudy.cli.submit.wish import Document
from understudy.cli.target import Session
from understudy.objects.resources import Resource
from understudy.ports import Ref, Refused, Unreachable

_STRICT = "fieldManager=understudy&fieldValidation=Strict"
_NOT_EVERYWHERE = {  # fields that not every cluster's kinds have
    "startingDeadlineSeconds": "--starting-timeout: {kind} of this cluster has no {field}; leave it out",
    "launcherCreationPolicy": "{kind} of this cluster has no {field}; add --set spec.{field}=null",
}


class Piece(msgspec.Struct, frozen=True):
    """An object, and where it goes."""

    resource: Resource
    document: Document

    @property
    def title(self) -> str:
        """As kubectl names it."""
        group = f".{self.resource.group}" if self.resource.group else ""
        return f"{self.resource.kind.lower()}{group}/{self.document['metadata']['name']}"


async def create(session: Session, job: Piece, others: Sequence[Piece]) -> None:
    for piece in (job, *others):
        await _tried(session, piece)
    made: list[Piece] = []
    try:
        stored = msgspec.json.decode(await _post(session, job))
        made.append(Piece(job.resource, stored))
        for piece in others:
            owned = Piece(piece.resource, _owned(piece.document, stored))
            made.append(Piece(piece.resource, msgspec.json.decode(await _post(session, owned))))
    except BaseException:
        await asyncio.shield(_take_back(session, made))
        raise


async def _tried(session: Session, piece: Piece) -> None:
    try:
        await _post(session, piece, "&dryRun=All")
    except Refused as error:
        for field, words in _NOT_EVERYWHERE.items():
            if field in error.message and "unknown field" in error.message:
                raise BadInput(words.format(kind=piece.resource.kind, field=field)) from None
        raise


async def _post(session: Session, piece: Piece, more: str = "") -> bytes:
    path = Ref(piece.resource, session.namespace).path()
    return await session.client.request("POST", f"{path}?{_STRICT}{more}", piece.document)


def _owned(document: Document, owner: Document) -> Document:
    ref = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    return {**document, "metadata": {**document["metadata"], "ownerReferences": [ref]}}


async def _take_back(session: Session, made: Iterable[Piece]) -> None:
    """The newest first. What cannot be reached any more cannot be taken back either."""
    for piece in reversed(list(made)):
        metadata = piece.document["metadata"]
        ref = Ref(piece.resource, session.namespace, metadata["name"])
        with contextlib.suppress(Refused, Unreachable):
            await session.client.delete(ref, uid=metadata["uid"], propagation="Background")
