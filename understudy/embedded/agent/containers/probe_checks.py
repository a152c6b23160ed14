"""The checks of probes and hooks: runs a command in a container, or asks its web server or its port."""

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from understudy.embedded.agent.api.pod_types import (
    Container,
    ExecAction,
    GrpcAction,
    HttpGetAction,
    TcpSocketAction,
)


class CheckResult(msgspec.Struct, frozen=True):
    """The result of one check."""

    passed: bool
    message: str = ""


CheckAction = ExecAction | HttpGetAction | TcpSocketAction | GrpcAction
CommandRunner = Callable[[Sequence[str], float], Awaitable[CheckResult]]  # a command in the container, its time limit

_LONGEST_MESSAGE = 1024
_LONGEST_ANSWER = 10 * 1024


async def run_check(
    action: CheckAction, container: Container, address: str, runner: CommandRunner, seconds: float
) -> CheckResult:
    """Never raises: any error is a failed check."""
    try:
        match action:
            case ExecAction(command):
                return await runner(command, seconds)
            case HttpGetAction():
                async with asyncio.timeout(seconds):
                    return await _get(action, _port(container, action.port), action.host or address)
            case TcpSocketAction():
                async with asyncio.timeout(seconds):
                    return await _connect(_port(container, action.port), action.host or address)
            case GrpcAction():  # only the port is checked, not the gRPC health service
                async with asyncio.timeout(seconds):
                    return await _connect(action.port, address)
    except TimeoutError:
        return CheckResult(False, f"no answer within {seconds:g} s")
    except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as problem:
        return CheckResult(False, str(problem)[:_LONGEST_MESSAGE])


def _port(container: Container, port: int | str) -> int:
    if isinstance(port, int):
        return port
    for declared in container.ports:
        if declared.name == port:
            return declared.container_port
    if port.isdecimal():
        return int(port)
    raise ValueError(f"couldn't find port: {port}")


async def _connect(port: int, host: str) -> CheckResult:
    _, writer = await asyncio.open_connection(host, port)
    await _closed(writer)
    return CheckResult(True)


async def _get(action: HttpGetAction, port: int, host: str) -> CheckResult:
    secure = _unchecked() if action.scheme.upper() == "HTTPS" else None
    reader, writer = await asyncio.open_connection(host, port, ssl=secure, limit=_LONGEST_ANSWER)
    try:
        writer.write(_request(action, f"{host}:{port}"))
        await writer.drain()
        status = (await reader.readline()).split()
        if len(status) < 2 or not status[1].isdigit():
            return CheckResult(False, "the answer is not HTTP")
        code = int(status[1])
        passed = 200 <= code < 400
        return CheckResult(passed, "" if passed else f"HTTP probe failed with statuscode: {code}")
    finally:
        await _closed(writer)


def _request(action: HttpGetAction, host: str) -> bytes:
    headers = {"Host": host, "User-Agent": "understudy-probe", "Accept": "*/*", "Connection": "close"}
    headers |= {header.name: header.value for header in action.http_headers}
    path = action.path if action.path.startswith("/") else f"/{action.path}"
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("a probe's path and headers must be single lines")
    return "\r\n".join([*lines, "", ""]).encode()


def _unchecked() -> ssl.SSLContext:
    """As in Kubernetes, probes do not verify certificates."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
