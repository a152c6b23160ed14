"""GET pods/{name}/attach: what a container writes from now on, over a WebSocket.

Containers have no standard input here, so nothing can be typed into them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Any

from understudy.embedded import container_logs
from understudy.embedded.schema.errors import ApiError, bad_request
from understudy.embedded.schema.types.pods import Pod
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.request_target import Target
from understudy.embedded.server.http.response import Response, exit_status, status_document
from understudy.embedded.server.http.websocket import WebSocket
from understudy.embedded.server.registry.state import ServerState
from understudy.embedded.server.registry.update import find_record
from understudy.embedded.server.subresources.pod_exec import PROTOCOLS
from understudy.embedded.server.subresources.pod_log import container_of
from understudy.objects.pods import ENDED_PHASES

_CHANNELS = {"stdout": 1, "stderr": 2}
_ERROR = 3
_NO_INPUT = "containers of an embedded cluster have no standard input: attach without -i, or use kubectl exec -i"

Output = AsyncIterator[tuple[str, bytes]]


async def serve_attach(state: ServerState, request: Request, target: Target, socket: WebSocket) -> None:
    protocol = next((one for one in PROTOCOLS if one in socket.subprotocols), None)
    if protocol is None:
        raise bad_request(f"unable to upgrade: none of the subprotocols {', '.join(PROTOCOLS)} was offered")
    output = _output(state, request, target)
    await socket.accept(protocol)
    if request.flag("stdin"):
        status: bytes | None = status_document(ApiError(HTTPStatus.BAD_REQUEST, "BadRequest", _NO_INPUT))
    else:
        status = await _relay(state, output, socket, _wanted(request))
    with contextlib.suppress(OSError):
        if status is not None:
            await socket.send(bytes([_ERROR]) + status)
        await socket.close()


def _output(state: ServerState, request: Request, target: Target) -> Output:
    pod = target.served.form.load(find_record(state, target).body)
    assert isinstance(pod, Pod)
    if pod.status.phase in ENDED_PHASES:
        raise bad_request(
            f"cannot attach a container in a completed pod; current phase is {pod.status.phase}; "
            "kubectl logs shows what it wrote"
        )
    container = container_of(pod, request.query.get("container", ""))
    try:
        return container_logs.follow_streams(state.folder.pods, str(pod.metadata.uid), container)
    except container_logs.NoLog as none:
        raise bad_request(str(none)) from None


def _wanted(request: Request) -> frozenset[str]:
    return frozenset(name for name in _CHANNELS if request.flag(name))


async def _relay(state: ServerState, output: Output, socket: WebSocket, wanted: frozenset[str]) -> bytes | None:
    """The last message of the error channel; None where the client has disconnected."""

    async def send() -> None:
        async for stream, text in output:
            if stream in wanted:
                await socket.send(bytes([_CHANNELS[stream]]) + text)

    async def disconnected() -> None:
        async for _ in socket:
            pass

    sending, gone = asyncio.ensure_future(send()), asyncio.ensure_future(disconnected())
    try:
        waited: set[asyncio.Future[Any]] = {sending, gone, state.closing}
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if not sending.done():
            return None
        sending.result()
        return exit_status(0)
    finally:
        for task in (sending, gone):
            task.cancel()
        await asyncio.gather(sending, gone, return_exceptions=True)


async def attach_without_upgrade(state: ServerState, request: Request, target: Target) -> Response:
    """Raises what is wrong with the request, else that a WebSocket is needed."""
    output = _output(state, request, target)
    await output.aclose()  # type: ignore[attr-defined]
    raise bad_request(
        "attach works over WebSockets only: use kubectl 1.30 or newer, or 1.29 with "
        "KUBECTL_REMOTE_COMMAND_WEBSOCKETS=true"
    )
