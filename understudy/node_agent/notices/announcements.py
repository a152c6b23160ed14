"""What a cloud says about the end of machines, and how it is asked: the values that every source is made of."""

from collections.abc import Callable

import msgspec

from understudy.node_agent.notices.metadata_server import Ask, MetadataServer


class Announcement(msgspec.Struct, frozen=True):
    """A machine will go."""

    cause: str  # the event in the words of the source
    deadline: float | None = None  # None: the source names no time
    within: float = 0.0  # then: seconds after it was first seen
    at: float | None = None  # when the source announced it, as far as that is known
    machines: frozenset[str] = frozenset()  # which, in lower case; empty: the machine that asks


Announcements = tuple[Announcement, ...]


class Endpoint(msgspec.Struct, frozen=True):
    """One address of a metadata server. A 404 means that it has nothing to announce."""

    path: str
    parse: Callable[[bytes], Announcements]  # raises ValueError where the answer makes no sense
    headers: tuple[tuple[str, str], ...] = ()
    interval: float = 1.0  # seconds between two requests
    # An etag and seconds into a path that is answered when the value changes, or after so long.
    waiting: Callable[[str, float], str] | None = None
    wait: float = 10.0


def ask_plainly(server: MetadataServer) -> Ask:
    return server.get


class Source(msgspec.Struct, frozen=True):
    """A cloud."""

    name: str
    address: str
    endpoints: tuple[Endpoint, ...]
    ask: Callable[[MetadataServer], Ask] = ask_plainly
