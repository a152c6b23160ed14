"""How many requests were answered how, and how long that took: for whoever wants to show it."""

from collections.abc import Callable

import msgspec

NO_ANSWER = 0  # stands for the code of an answer that never came

Listener = Callable[["CompletedRequest"], None]


class CompletedRequest(msgspec.Struct, frozen=True, gc=False):
    """One request on its way there and back; one that is asked again counts again."""

    method: str
    resource: str  # `pods`, `pods/binding`, `jobs`; what is no resource, by the first part of its path
    code: int
    seconds: float


class RequestMetrics:
    def __init__(self) -> None:
        self.answers: dict[tuple[str, str, int], int] = {}  # (method, resource, code) -> how many
        self.seconds: dict[tuple[str, str], float] = {}  # (method, resource) -> spent waiting, in all
        self.repeats = 0  # requests that were asked again
        self.listener: Listener | None = None  # hears of each; must be quick and never fails

    def count(self, method: str, path: str, code: int, seconds: float) -> None:
        resource = resource_of(path)
        answer, kind = (method, resource, code), (method, resource)
        self.answers[answer] = self.answers.get(answer, 0) + 1
        self.seconds[kind] = self.seconds.get(kind, 0.0) + seconds
        if self.listener is not None:
            self.listener(CompletedRequest(method, resource, code, seconds))


def resource_of(path: str) -> str:
    """`/api/v1/namespaces/team/pods/worker-0/binding` is about `pods/binding`; names would make too many kinds."""
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
