"""The last line that a container printed."""

from urllib.parse import urlencode

from understudy.client import KubeClient
from understudy.objects.resources import PODS
from understudy.ports import Ref, Refused, Unreachable

_LINES, _LONGEST = 20, 300


async def last_line(client: KubeClient, namespace: str, pod: str, container: str) -> str:
    """Without blank lines. Empty where there is no log, or it cannot be read."""
    path = Ref(PODS, namespace, pod).path("log")
    query = urlencode({"container": container, "tailLines": _LINES})
    said = b""
    try:
        async for piece in client.stream(f"{path}?{query}"):
            said += piece
    except (Refused, Unreachable):
        return ""
    lines = [line.strip() for line in said.decode(errors="replace").splitlines()]
    return next((line for line in reversed(lines) if line), "")[:_LONGEST]
