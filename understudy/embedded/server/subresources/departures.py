"""POST departures: pods are deleted together in one write, each with a condition that gives the reason."""

from collections.abc import Iterator, Sequence

import msgspec

from understudy.embedded.schema.errors import bad_request
from understudy.embedded.schema.types.pods import Pod, PodCondition
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.request_body import read_as, read_json
from understudy.embedded.server.http.response import Response, success
from understudy.embedded.server.registry.delete import mark_for_deletion
from understudy.embedded.server.registry.graceful_deletion import DeleteOptions
from understudy.embedded.server.registry.state import ServerState
from understudy.embedded.server.registry.store_writes import put, remove_as
from understudy.embedded.server.registry.update import is_finished
from understudy.embedded.store.records import Key, Record, Write
from understudy.objects.resources import PODS
from understudy.ports import PodEviction

_MOST = 10_000


class PodReleases(msgspec.Struct, frozen=True):
    """The body of POST departures."""

    releases: list[PodEviction] = msgspec.field(name="departures")


_releases = msgspec.json.Decoder(PodReleases).decode


async def delete_pods(state: ServerState, request: Request, namespace: str) -> Response:
    given = read_as(_releases, await read_json(request), "list of departures").releases
    if not 0 < len(given) <= _MOST:
        raise bad_request(f"departures: give between 1 and {_MOST} of them")
    if len({release.pod for release in given}) < len(given):
        raise bad_request("departures: a pod stands there twice")
    writes = list(_writes(state, namespace, given))
    if writes and not request.dry_run:
        await state.store.submit(writes)
    return success(code=201)


def _writes(state: ServerState, namespace: str, given: Sequence[PodEviction]) -> Iterator[Write]:
    for release in given:
        record = state.store.newest(Key(PODS.key, namespace, release.pod))
        if record is not None:
            yield from _write(state, record, release)


def _write(state: ServerState, record: Record, release: PodEviction) -> Iterator[Write]:
    """None where another pod has that name now."""
    options = DeleteOptions(grace_period_seconds=release.grace)
    pod = mark_for_deletion(state.served(PODS), record, options, state.now())
    assert isinstance(pod, Pod)
    if pod.metadata.uid != release.uid:
        return
    condition = _condition(release)
    others = [one for one in pod.status.conditions or () if one.type != condition.type]
    pod.status.conditions = [*others, condition]
    yield remove_as(record, pod) if is_finished(pod) else put(record.key, pod)


def _condition(release: PodEviction) -> PodCondition:
    try:
        return msgspec.convert(release.condition, PodCondition)
    except msgspec.ValidationError as wrong:
        raise bad_request(f"departures: condition of pod {release.pod}: {wrong}") from None
