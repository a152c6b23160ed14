"""Counts requests by method, resource and status code, and sums up their durations."""

from collections.abc import Callable

import msgspec

NO_ANSWER = 0  # in place of a status code, for a request without a response

Listener = Callable[["CompletedRequest"], None]


class CompletedRequest(msgspec.Struct, frozen=True, gc=False):
    """One attempt of a request; a retry counts again."""

    method: str
    resource: str  # `pods`, `pods/binding`, `jobs`; for other paths, their first segment
    code: int
    seconds: float


class RequestMetrics:
    def __init__(self) -> None:
        self.answers: dict[tuple[str, str, int], int] = {}  # (method, resource, code) -> how many
        self.seconds: dict[tuple[str, str], float] = {}  # (method, resource) -> in total
        self.repeats = 0  # retries
        self.listener: Listener | None = None  # called for each attempt; must be quick and must not raise

    def count(self, method: str, path: str, code: int, seconds: float) -> None:
        resource = resource_of(path)
        answer, kind = (method, resource, code), (method, resource)
        self.answers[answer] = self.answers.get(answer, 0) + 1
        self.seconds[kind] = self.seconds.get(kind, 0.0) + seconds
        if self.listener is not None:
            self.listener(CompletedRequest(method, resource, code, seconds))


def resource_of(path: str) -> str:
    """`/api/v1/namespaces/team/pods/worker-0/binding` counts as `pods/binding`; object names would make too many
    series."""
    parts = path.partition("?")[0].strip("/").split("/")
    if parts[0] == "api":
        del parts[:2]
    elif parts[0] == "apis":
        del parts[:3]
    else:
        return parts[0]
    if parts[:1] == ["namespaces"] and len(parts) > 2:
        del parts[:2]
    if not parts:
        return "discovery"
    return f"{parts[0]}/{parts[2]}" if len(parts) > 2 else parts[0]
