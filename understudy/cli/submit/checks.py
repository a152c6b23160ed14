"""Before anything is made: what a job refers to must exist, and its name must be free. Asks; changes nothing."""

import asyncio
from collections.abc import Iterable
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec

from understudy.cli.errors import BadInput, close_names, short_list
from understudy.cli.queries.installation import is_embedded
from understudy.cli.session import Session
from understudy.cli.submit import manifest
from understudy.cli.submit.pod_template import NO_IMAGE
from understudy.cli.submit.request import Document
from understudy.objects.resources import CLAIMS, PRIORITY_CLASSES, Resource
from understudy.ports import Ref, Refused


async def check(session: Session, resource: Resource, document: Document) -> None:
    _check_image(session, document)
    await asyncio.gather(
        _check_name(session, resource, document["metadata"]["name"]),
        _check_priorities(session, manifest.priority_classes(document)),
        _check_claims(session, manifest.claims(document)),
    )


def check_source(session: Session, source: str | None) -> None:
    """A folder of this machine is there for clusters of this machine alone."""
    if source and Path(source).is_dir() and not is_embedded(session.client):
        raise BadInput(f"--sync-source {source}: a folder of this machine, which pods of that cluster cannot see")


def _check_image(session: Session, document: Document) -> None:
    if NO_IMAGE in manifest.images(document) and not is_embedded(session.client):
        raise BadInput("--image: missing; pods of this cluster run images")


async def _check_name(session: Session, resource: Resource, name: str) -> None:
    if await _found(session, Ref(resource, session.namespace, name)):
        raise BadInput(
            f"--name {name}: {resource.kind.lower()}.{resource.group}/{name} exists already in namespace "
            f"{session.namespace}; choose another name, or `understudy delete {name}` first"
        )


async def _check_priorities(session: Session, names: Iterable[str]) -> None:
    for name in names:
        if await _found(session, Ref(PRIORITY_CLASSES, "", name)):
            continue
        classes = sorted(await _listed(session, PRIORITY_CLASSES), key=_class_order)
        close = close_names(name, map(_name, classes))
        hint = f"did you mean {' or '.join(close)}? There" if close else "there"
        known = short_list(f"{_name(one)} ({one['value']})" for one in classes)
        raise BadInput(
            f"--priority {name}: there is no such PriorityClass; {hint} are {known or 'none'}; "
            "`understudy priority create` makes one"
        )


async def _check_claims(session: Session, names: Iterable[str]) -> None:
    for name in names:
        if await _found(session, Ref(CLAIMS, session.namespace, name)):
            continue
        known = sorted(map(_name, await _listed(session, CLAIMS)))
        close = close_names(name, known)
        hint = f"did you mean {' or '.join(close)}?" if close else f"there are {short_list(known) or 'none'}"
        raise BadInput(f"--data {name}: no such PersistentVolumeClaim in namespace {session.namespace}; {hint}")


async def _found(session: Session, ref: Ref) -> bool:
    try:
        await session.client.get(ref)
    except Refused as error:
        if error.code == HTTPStatus.NOT_FOUND:
            return False
        raise
    return True


async def _listed(session: Session, resource: Resource) -> list[dict[str, Any]]:
    body = await session.client.get(Ref(resource, session.namespace if resource.namespaced else ""))
    items: list[dict[str, Any]] = msgspec.json.decode(body)["items"]
    return items


def _class_order(one: dict[str, Any]) -> tuple[bool, int, str]:
    return _name(one).startswith("system-"), -one["value"], _name(one)


def _name(document: dict[str, Any]) -> str:
    return str(document["metadata"]["name"])
