"""What is said between an agent, its nursery and the shims, one message a packet."""

import msgspec


class LaunchOrder(msgspec.Struct, frozen=True, tag="launch"):
    folder: str


class ExecOrder(msgspec.Struct, frozen=True, tag="enter"):
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


ForkServerOrder = LaunchOrder | ExecOrder | NodeOrder


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """What this machine lets the nursery do."""

    mounts: bool
    why_not: str = ""
    pid: int = 0  # of the nursery that says so


class NodeForked(msgspec.Struct, frozen=True, tag="embodied"):
    """A node has a process of its own."""

    serial: int
    pid: int


class Heartbeat(msgspec.Struct, frozen=True, tag="beat"):
    """A node's process is alive, and was at this moment."""

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

HEARTBEAT_SECONDS = 1.0  # seconds between two beats of a node's process
LARGEST_ORDER = 180_000  # what fits a socket's buffer; the command line of an exec is the only thing that can be long
LARGEST_PACKET = 1 << 18
encode = msgspec.json.Encoder().encode
decode_order = msgspec.json.Decoder(ForkServerOrder).decode
decode_message = msgspec.json.Decoder(ForkServerMessage).decode
