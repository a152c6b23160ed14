"""What is said between an agent, its nursery and the shims, one message a packet."""

import msgspec


class LaunchOrder(msgspec.Struct, frozen=True, tag="launch"):
    folder: str


class EnterOrder(msgspec.Struct, frozen=True, tag="enter"):
    """Run a command beside a container. Its stdin, stdout and stderr travel with the message."""

    session: int
    folder: str
    argv: tuple[str, ...]
    tty: bool = False


class NodeOrder(msgspec.Struct, frozen=True, tag="node"):
    """Fork a nursery for one node. The socket it is to serve travels with the message."""

    serial: int
    record: str  # the file by which its process is found from outside
    reserve: int = 0  # shims to have ready ahead of orders


Order = LaunchOrder | EnterOrder | NodeOrder


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """What this machine lets the nursery do."""

    mounts: bool
    why_not: str = ""
    pid: int = 0  # of the nursery that says so


class Embodied(msgspec.Struct, frozen=True, tag="embodied"):
    """A node has a process of its own."""

    serial: int
    pid: int


class Beat(msgspec.Struct, frozen=True, tag="beat"):
    """A node's process is alive, and was at this moment."""

    at: float


class Forked(msgspec.Struct, frozen=True, tag="forked"):
    folder: str
    shim: int


class Started(msgspec.Struct, frozen=True, tag="started"):
    folder: str


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    folder: str


class Entered(msgspec.Struct, frozen=True, tag="entered"):
    session: int
    pid: int


class Left(msgspec.Struct, frozen=True, tag="left"):
    session: int
    exit_code: int
    problem: str = ""


News = Hello | Embodied | Beat | Forked | Started | Ended | Entered | Left

BEAT = 1.0  # seconds between two beats of a node's process
LARGEST_ORDER = 180_000  # what fits a socket's buffer; the command line of an exec is the only thing that can be long
LARGEST_PACKET = 1 << 18
encode = msgspec.json.Encoder().encode
decode_order = msgspec.json.Decoder(Order).decode
decode_news = msgspec.json.Decoder(News).decode
