"""GET pods/{name}/log: the lines of one container, those written so far or followed."""

import re
from datetime import UTC, datetime

from understudy.embedded import container_logs
from understudy.embedded.schema.errors import bad_request
from understudy.embedded.schema.types.pods import Pod
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.request_target import Target
from understudy.embedded.server.http.response import TEXT, StreamedResponse
from understudy.embedded.server.registry.state import ServerState
from understudy.embedded.server.registry.update import find_record

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


async def read_log(state: ServerState, request: Request, target: Target) -> StreamedResponse:
    pod = target.served.form.load(find_record(state, target).body)
    assert isinstance(pod, Pod)
    container = container_of(pod, request.query.get("container", ""))
    try:
        pieces = container_logs.read(state.folder.pods, str(pod.metadata.uid), container, log_options(request))
    except container_logs.NoLog as none:
        said = str(none).replace(f'container "{container}"', f'container "{container}" in pod "{target.name}"', 1)
        raise bad_request(said) from None
    return StreamedResponse(pieces, TEXT)


def container_of(pod: Pod, asked: str) -> str:
    """The requested container, or the only one of the pod. Raises a 400 where neither exists."""
    names = [container.name for container in pod.spec.containers]
    others = [container.name for container in pod.spec.init_containers or ()]
    name = pod.metadata.name
    if asked:
        if asked not in names and asked not in others:
            raise bad_request(f"container {asked} is not valid for pod {name}")
        return asked
    if len(names) > 1:
        said = f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]"
        raise bad_request(f"{said} or one of the init containers: [{' '.join(others)}]" if others else said)
    return names[0]


def log_options(request: Request) -> container_logs.LogOptions:
    since = request.query.get("sinceTime")
    seconds = request.number("sinceSeconds")
    if since and seconds is not None:
        raise bad_request("at most one of sinceTime or sinceSeconds may be specified")
    return container_logs.LogOptions(
        follow=request.flag("follow"),
        tail_lines=_at_least(0, "tailLines", request.number("tailLines")),
        since_seconds=_at_least(1, "sinceSeconds", seconds),
        since_time=_moment(since) if since else None,
        timestamps=request.flag("timestamps"),
        previous=request.flag("previous"),
        limit_bytes=_at_least(1, "limitBytes", request.number("limitBytes")),
    )


def _at_least(least: int, name: str, value: int | None) -> int | None:
    if value is not None and value < least:
        raise bad_request(f"{name}: Invalid value: {value}: must be greater than or equal to {least}")
    return value


def _moment(text: str) -> datetime:
    parts = _MOMENT.fullmatch(text.replace(" ", "+"))  # a plus that was not percent-encoded
    try:
        if parts is None:
            raise ValueError
        zone = "+00:00" if parts[3] in "Zz" else parts[3]
        moment = datetime.fromisoformat(f"{parts[1].upper()}{(parts[2] or '')[:7]}{zone}")
    except ValueError:
        raise bad_request(f'sinceTime: Invalid value: "{text}": use a time like 2006-01-02T15:04:05Z') from None
    return moment.astimezone(UTC)
