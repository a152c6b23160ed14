"""Creates a job and the objects that belong to it, all or nothing.

Everything is tried first without storing it. What belongs to the job is owned by it, so it goes when the job goes.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Sequence

import msgspec

from understudy.cli.errors import BadInput
from understudy.cli.session import Session
from understudy.cli.submit.request import Document
from understudy.objects.resources import Resource
from understudy.ports import Ref, Refused, Unreachable

_STRICT = "fieldManager=understudy&fieldValidation=Strict"
_NOT_EVERYWHERE = {  # fields that not every cluster's kinds have
    "startingDeadlineSeconds": "--starting-timeout: {kind} of this cluster has no {field}; leave it out",
    "launcherCreationPolicy": "{kind} of this cluster has no {field}; add --set spec.{field}=null",
}


class ApiObject(msgspec.Struct, frozen=True):
    """An object, and where it goes."""

    resource: Resource
    document: Document

    @property
    def title(self) -> str:
        """The name of the object as kubectl writes it."""
        group = f".{self.resource.group}" if self.resource.group else ""
        return f"{self.resource.kind.lower()}{group}/{self.document['metadata']['name']}"


async def create(session: Session, job: ApiObject, others: Sequence[ApiObject]) -> None:
    for piece in (job, *others):
        await _try(session, piece)
    made: list[ApiObject] = []
    try:
        stored = msgspec.json.decode(await _post(session, job))
        made.append(ApiObject(job.resource, stored))
        for piece in others:
            owned = ApiObject(piece.resource, _owned(piece.document, stored))
            made.append(ApiObject(piece.resource, msgspec.json.decode(await _post(session, owned))))
    except BaseException:
        await asyncio.shield(_delete_created(session, made))
        raise


async def _try(session: Session, piece: ApiObject) -> None:
    try:
        await _post(session, piece, "&dryRun=All")
    except Refused as error:
        for field, words in _NOT_EVERYWHERE.items():
            if field in error.message and "unknown field" in error.message:
                raise BadInput(words.format(kind=piece.resource.kind, field=field)) from None
        raise


async def _post(session: Session, piece: ApiObject, more: str = "") -> bytes:
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


async def _delete_created(session: Session, made: Iterable[ApiObject]) -> None:
    """The newest first. What cannot be reached any more cannot be taken back either."""
    for piece in reversed(list(made)):
        metadata = piece.document["metadata"]
        ref = Ref(piece.resource, session.namespace, metadata["name"])
        with contextlib.suppress(Refused, Unreachable):
            await session.client.delete(ref, uid=metadata["uid"], propagation="Background")
