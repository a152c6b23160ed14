"""What is observed of a container at one moment: the values from which decisions and statuses are made."""

import enum

import msgspec

STATUS_UNKNOWN = "ContainerStatusUnknown"  # how the container ended is not known
CLUSTER_STOPPED = "ClusterStopped"  # the cluster was stopped


class Termination(msgspec.Struct, frozen=True, gc=False):
    """How one start of a container ended."""

    exit_code: int
    reason: str
    finished_at: float
    started_at: float | None = None
    message: str = ""
    signal: int = 0

    @property
    def is_success(self) -> bool:
        """A program that saves its work and exits with 0 because the cluster stops has not completed that work."""
        return self.exit_code == 0 and self.reason != CLUSTER_STOPPED

    @property
    def is_disruption(self) -> bool:
        """Not a failure of the container itself."""
        return self.reason in (STATUS_UNKNOWN, CLUSTER_STOPPED)


class StartRefusal(msgspec.Struct, frozen=True, gc=False):
    """Why a container could not be started, and when to try again."""

    reason: str
    message: str
    until: float


class StopRequest(msgspec.Struct, frozen=True, gc=False):
    """A decision to stop the container."""

    begun: float
    grace: float


class HookState(enum.Enum):
    NONE = enum.auto()
    RUNNING = enum.auto()
    DONE = enum.auto()


class ObservedContainer(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`attempt` counts the starts of the container from 0; it is -1 before the first."""

    attempt: int = -1
    asked: bool = False  # its start was ordered and is not confirmed yet
    started_at: float | None = None
    end: Termination | None = None
    previous: Termination | None = None  # of the start before this one
    delay: float = 0.0  # the back-off that came before this start
    refusal: StartRefusal | None = None
    started: bool = False  # its startup probe has passed, or it has none
    ready: bool = False
    post_start: HookState = HookState.NONE
    pre_stop: HookState = HookState.NONE
    stop: StopRequest | None = None
    terminated_at: float | None = None  # when SIGTERM was sent
    killed: bool = False

    @property
    def is_running(self) -> bool:
        return self.started_at is not None and self.end is None

    @property
    def is_busy(self) -> bool:
        """It runs, or its start was ordered."""
        return self.asked or self.is_running

    @property
    def has_succeeded(self) -> bool:
        return self.end is not None and self.end.is_success


NOT_OBSERVED = ObservedContainer()
