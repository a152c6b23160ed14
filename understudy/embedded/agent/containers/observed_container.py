"""What is known of a pod's containers at one moment: the values that decisions and statuses are made from."""

import enum

import msgspec

STATUS_UNKNOWN = "ContainerStatusUnknown"  # nobody knows how it ended
CLUSTER_STOPPED = "ClusterStopped"  # it was asked to, because the whole cluster went down


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
        """A program that saves its work and ends well because it is told to go has not done that work."""
        return self.exit_code == 0 and self.reason != CLUSTER_STOPPED

    @property
    def is_disruption(self) -> bool:
        """Nothing the container did."""
        return self.reason in (STATUS_UNKNOWN, CLUSTER_STOPPED)


class StartRefusal(msgspec.Struct, frozen=True, gc=False):
    """Why a container could not be made, and when to try again."""

    reason: str
    message: str
    until: float


class StopRequest(msgspec.Struct, frozen=True, gc=False):
    """That a container was asked to end."""

    begun: float
    grace: float


class HookState(enum.Enum):
    NONE = enum.auto()
    RUNNING = enum.auto()
    DONE = enum.auto()


class ObservedContainer(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One container. `attempt` counts its starts from 0 and is -1 before the first."""

    attempt: int = -1
    asked: bool = False  # it was told to start, and nothing has been heard yet
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
        """It runs, or may run any moment."""
        return self.asked or self.is_running

    @property
    def has_succeeded(self) -> bool:
        return self.end is not None and self.end.is_success


NOT_OBSERVED = ObservedContainer()
