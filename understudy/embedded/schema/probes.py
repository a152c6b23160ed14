"""How a container is looked after: probes, and what runs around its start and stop."""

from typing import Literal

from msgspec import UNSET

from understudy.embedded.schema.meta import Part
from understudy.embedded.schema.values import Count, Int64, IntOrString, Maybe, NonEmpty, Port, Positive


class ExecAction(Part):
    """A command run in the container. Exit code 0 means well."""

    command: Maybe[list[str]] = UNSET


class HTTPHeader(Part):
    """A header sent with a request."""

    name: NonEmpty
    value: str


class HTTPGetAction(Part):
    """An HTTP request to the container. 200 to 399 means well."""

    port: IntOrString
    host: Maybe[str] = UNSET
    http_headers: Maybe[list[HTTPHeader]] = UNSET
    path: str = "/"
    scheme: Literal["HTTP", "HTTPS"] = "HTTP"


class TCPSocketAction(Part):
    """A connection to a port of the container. Open means well."""

    port: IntOrString
    host: Maybe[str] = UNSET


class GRPCAction(Part):
    """A call of the gRPC health service."""

    port: Port
    service: str = ""


class SleepAction(Part):
    """Waits for some seconds."""

    seconds: Int64


class Probe(Part):
    """A check that is made over and over while the container runs."""

    exec: Maybe[ExecAction] = UNSET
    failure_threshold: Positive = 3
    grpc: Maybe[GRPCAction] = UNSET
    http_get: Maybe[HTTPGetAction] = UNSET
    initial_delay_seconds: Maybe[Count] = UNSET
    period_seconds: Positive = 10
    success_threshold: Positive = 1
    tcp_socket: Maybe[TCPSocketAction] = UNSET
    termination_grace_period_seconds: Maybe[Positive] = UNSET
    timeout_seconds: Positive = 1


class LifecycleHandler(Part):
    """What is done at a point in the life of a container."""

    exec: Maybe[ExecAction] = UNSET
    http_get: Maybe[HTTPGetAction] = UNSET
    sleep: Maybe[SleepAction] = UNSET
    tcp_socket: Maybe[TCPSocketAction] = UNSET


class Lifecycle(Part):
    """What is done after the start and before the stop of a container."""

    post_start: Maybe[LifecycleHandler] = UNSET
    pre_stop: Maybe[LifecycleHandler] = UNSET
    stop_signal: Maybe[str] = UNSET
