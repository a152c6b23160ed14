"""Pods that have to go, as many as go together: each is told why and deleted, all in one write."""

from collections.abc import Iterator, Sequence

import msgspec

from understudy.embedded.api.errors import bad_request
from understudy.embedded.schema.types.pods import Pod, PodCondition
from understudy.embedded.server.answers import Answer, success
from understudy.embedded.server.bodies import read_as, read_json
from understudy.embedded.server.calls import Call
from understudy.embedded.server.deleting import marked
from understudy.embedded.server.deletion import DeleteOptions
from understudy.embedded.server.state import State
from understudy.embedded.server.updating import is_finished
from understudy.embedded.server.writing import put, take_away
from understudy.embedded.store.records import Key, Record, Write
from understudy.objects.resources import PODS
from understudy.ports import Departure

_MOST = 10_000


class Departures(msgspec.Struct, frozen=True):
    """What POST departures says."""

    departures: list[Departure]


_departures = msgspec.json.Decoder(Departures).decode


async def depart(state: State, call: Call, namespace: str) -> Answer:
    given = read_as(_departures, await read_json(call), "list of departures").departures
    if not 0 < len(given) <= _MOST:
        raise bad_request(f"departures: give between 1 and {_MOST} of them")
    if len({departure.pod for departure in given}) < len(given):
        raise bad_request("departures: a pod stands there twice")
    writes = list(_writes(state, namespace, given))
    if writes and not call.dry_run:
        await state.store.submit(writes)
    return success(code=201)


def _writes(state: State, namespace: str, given: Sequence[Departure]) -> Iterator[Write]:
    for departure in given:
        record = state.store.newest(Key(PODS.key, namespace, departure.pod))
        if record is not None:
            yield from _write(state, record, departure)


def _write(state: State, record: Record, departure: Departure) -> Iterator[Write]:
    """Nothing, where another pod has that name by now."""
    options = DeleteOptions(grace_period_seconds=departure.grace)
    pod = marked(state.served(PODS), record, options, state.now())
    assert isinstance(pod, Pod)
    if pod.metadata.uid != departure.uid:
        return
    condition = _condition(departure)
    others = [one for one in pod.status.conditions or () if one.type != condition.type]
    pod.status.conditions = [*others, condition]
    yield take_away(record, pod) if is_finished(pod) else put(record.key, pod)


def _condition(departure: Departure) -> PodCondition:
    try:
        return msgspec.convert(departure.condition, PodCondition)
    except msgspec.ValidationError as wrong:
        raise bad_request(f"departures: condition of pod {departure.pod}: {wrong}") from None
