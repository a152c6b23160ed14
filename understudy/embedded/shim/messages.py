"""The messages between an agent, its fork servers and the shims, each in one packet."""

import msgspec


class LaunchOrder(msgspec.Struct, frozen=True, tag="launch"):
    folder: str


class ExecOrder(msgspec.Struct, frozen=True, tag="enter"):
    """Run a command in a container. Its stdin, stdout and stderr are attached to the message."""

    session: int
    folder: str
    argv: tuple[str, ...]
    tty: bool = False


class NodeOrder(msgspec.Struct, frozen=True, tag="node"):
    """Fork the process of a node. The socket that it serves is attached to the message."""

    serial: int
    record: str  # its pid file
    reserve: int = 0  # idle shims to fork ahead


ForkServerOrder = LaunchOrder | ExecOrder | NodeOrder


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """What this machine permits the fork server."""

    mounts: bool
    why_not: str = ""
    pid: int = 0  # of the sender


class NodeForked(msgspec.Struct, frozen=True, tag="embodied"):
    """The process of a node was forked."""

    serial: int
    pid: int


class Heartbeat(msgspec.Struct, frozen=True, tag="beat"):
    """The process of a node was alive at this moment."""

    at: float


class ShimForked(msgspec.Struct, frozen=True, tag="forked"):
    folder: str
    shim: int


class ContainerStarted(msgspec.Struct, frozen=True, tag="started"):
    folder: str


class ContainerEnded(msgspec.Struct, frozen=True, tag="ended"):
    folder: str


class ExecStarted(msgspec.Struct, frozen=True, tag="entered"):
    session: int
    pid: int


class ExecEnded(msgspec.Struct, frozen=True, tag="left"):
    session: int
    exit_code: int
    problem: str = ""


ForkServerMessage = (
    Hello | NodeForked | Heartbeat | ShimForked | ContainerStarted | ContainerEnded | ExecStarted | ExecEnded
)

HEARTBEAT_SECONDS = 1.0  # between two heartbeats of a node's process
LARGEST_ORDER = 180_000  # bytes that fit the buffer of a socket; only the command line of an exec can be that long
LARGEST_PACKET = 1 << 18
encode = msgspec.json.Encoder().encode
decode_order = msgspec.json.Decoder(ForkServerOrder).decode
decode_message = msgspec.json.Decoder(ForkServerMessage).decode
