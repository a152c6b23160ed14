"""GET pods/{name}/exec: Kubernetes' channels over a WebSocket, connected to the exec socket of the agent."""

import asyncio
import contextlib
from http import HTTPStatus
from typing import Any

import msgspec

from understudy.embedded import agent_protocol
from understudy.embedded.agent_protocol import AgentRefused, ExecRequest, ExecSession
from understudy.embedded.schema.errors import ApiError, bad_request
from understudy.embedded.schema.types.pods import Pod
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.request_target import Target
from understudy.embedded.server.http.response import Response, exit_status, status_document
from understudy.embedded.server.http.websocket import WebSocket
from understudy.embedded.server.registry.state import ServerState
from understudy.embedded.server.registry.update import find_record
from understudy.embedded.server.subresources.pod_log import container_of
from understudy.objects.pods import ENDED_PHASES

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
_ERROR = 3
_LONGEST_COMMAND = 128 * 1024


class _Size(msgspec.Struct, rename="pascal"):
    width: int = 0
    height: int = 0


async def serve_exec(state: ServerState, request: Request, target: Target, socket: WebSocket) -> None:
    """A wrong request is refused before the upgrade. Failures of the agent go to the error channel, because kubectl
    takes a refused upgrade for a server without WebSockets."""
    protocol = next((one for one in PROTOCOLS if one in socket.subprotocols), None)
    if protocol is None:
        raise bad_request(f"unable to upgrade: none of the subprotocols {', '.join(PROTOCOLS)} was offered")
    asked = exec_request_of(state, request, target)
    await socket.accept(protocol)
    try:
        async with await agent_protocol.open_exec(state.folder.agent_socket, asked) as session:
            status = await _relay(state, session, socket, asked)
    except AgentRefused as closed:
        status = status_document(ApiError(HTTPStatus.INTERNAL_SERVER_ERROR, "InternalError", str(closed)))
    if status is not None:
        await socket.send(bytes([_ERROR]) + status)
    await socket.close()


def exec_request_of(state: ServerState, request: Request, target: Target) -> ExecRequest:
    pod = target.served.form.load(find_record(state, target).body)
    assert isinstance(pod, Pod)
    command = tuple(request.values("command"))
    if not command:
        raise bad_request("you must specify at least one command for the container")
    if sum(map(len, command)) > _LONGEST_COMMAND:
        raise bad_request("the command is too long")
    if pod.status.phase in ENDED_PHASES:
        raise bad_request(f"cannot exec into a container in a completed pod; current phase is {pod.status.phase}")
    return ExecRequest(
        pod_uid=str(pod.metadata.uid),
        container=container_of(pod, request.query.get("container", "")),
        command=command,
        stdin=request.flag("stdin"),
        tty=request.flag("tty"),
    )


async def _relay(state: ServerState, session: ExecSession, socket: WebSocket, asked: ExecRequest) -> bytes | None:
    """The last message of the error channel; None where the client has disconnected."""
    inward = asyncio.ensure_future(_relay_input(session, socket, asked))
    outward = asyncio.ensure_future(_relay_output(session, socket))
    try:
        waited: set[asyncio.Future[Any]] = {inward, outward, state.closing}
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if not outward.done():
            return None
        return outward.result()
    finally:
        for task in (inward, outward):
            task.cancel()
        await asyncio.gather(inward, outward, return_exceptions=True)


async def _relay_output(session: ExecSession, socket: WebSocket) -> bytes:
    async for channel, data in session:
        if data:
            await socket.send(bytes([channel]) + data)
    return exit_status(session.exit_code or 0)


async def _relay_input(session: ExecSession, socket: WebSocket, asked: ExecRequest) -> None:
    """Until the client disconnects. A command that has closed its input may still write output."""
    async for message in socket:
        with contextlib.suppress(AgentRefused):
            await _forward(session, message, asked)


async def _forward(session: ExecSession, message: bytes, asked: ExecRequest) -> None:
    match message[:1]:
        case b"\x00" if asked.stdin and len(message) > 1:
            await session.send(message[1:])
        case b"\x04":
            with contextlib.suppress(msgspec.DecodeError):
                size = msgspec.json.decode(message[1:], type=_Size)
                await session.resize(size.width, size.height)
        case b"\xff" if message[1:2] == b"\x00":
            await session.close_stdin()


async def exec_without_upgrade(state: ServerState, request: Request, target: Target) -> Response:
    """Raises what is wrong with the request, else that a WebSocket is needed."""
    exec_request_of(state, request, target)
    raise bad_request(
        "exec works over WebSockets only: use kubectl 1.30 or newer, or 1.29 with "
        "KUBECTL_REMOTE_COMMAND_WEBSOCKETS=true"
    )
