"""The checks behind probes and hooks: asks a container's own command, its web server or its socket."""

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable, Sequence

from understudy.embedded.agent.pods import Container, ExecAction, Grpc, HttpGet, TcpSocket
from understudy.embedded.agent.probing import Result

Action = ExecAction | HttpGet | TcpSocket | Grpc
Runner = Callable[[Sequence[str], float], Awaitable[Result]]  # runs a command in the container, within so many seconds

_LONGEST_MESSAGE = 1024
_LONGEST_ANSWER = 10 * 1024


async def check(action: Action, container: Container, address: str, runner: Runner, seconds: float) -> Result:
    """Never raises: whatever goes wrong is a check that has failed."""
    try:
        match action:
            case ExecAction(command):
                return await runner(command, seconds)
            case HttpGet():
                async with asyncio.timeout(seconds):
                    return await _get(action, _port(container, action.port), action.host or address)
            case TcpSocket():
                async with asyncio.timeout(seconds):
                    return await _connect(_port(container, action.port), action.host or address)
            case Grpc():  # its health service is not asked; that somebody listens has to do
                async with asyncio.timeout(seconds):
                    return await _connect(action.port, address)
    except TimeoutError:
        return Result(False, f"no answer within {seconds:g} s")
    except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as problem:
        return Result(False, str(problem)[:_LONGEST_MESSAGE])


def _port(container: Container, port: int | str) -> int:
    if isinstance(port, int):
        return port
    for declared in container.ports:
        if declared.name == port:
            return declared.container_port
    if port.isdecimal():
        return int(port)
    raise ValueError(f"couldn't find port: {port}")


async def _connect(port: int, host: str) -> Result:
    _, writer = await asyncio.open_connection(host, port)
    await _closed(writer)
    return Result(True)


async def _get(action: HttpGet, port: int, host: str) -> Result:
    secure = _unchecked() if action.scheme.upper() == "HTTPS" else None
    reader, writer = await asyncio.open_connection(host, port, ssl=secure, limit=_LONGEST_ANSWER)
    try:
        writer.write(_request(action, f"{host}:{port}"))
        await writer.drain()
        status = (await reader.readline()).split()
        if len(status) < 2 or not status[1].isdigit():
            return Result(False, "the answer is not HTTP")
        code = int(status[1])
        passed = 200 <= code < 400
        return Result(passed, "" if passed else f"HTTP probe failed with statuscode: {code}")
    finally:
        await _closed(writer)


def _request(action: HttpGet, host: str) -> bytes:
    headers = {"Host": host, "User-Agent": "understudy-probe", "Accept": "*/*", "Connection": "close"}
    headers |= {header.name: header.value for header in action.http_headers}
    path = action.path if action.path.startswith("/") else f"/{action.path}"
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("a probe's path and headers must be single lines")
    return "\r\n".join([*lines, "", ""]).encode()


def _unchecked() -> ssl.SSLContext:
    """As Kubernetes does: a probe asks whether somebody answers, not who."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
