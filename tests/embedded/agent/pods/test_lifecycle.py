"""The lifecycle of a pod: observed containers in, instructions out."""

from typing import Any

import msgspec
import pytest

from understudy.embedded.agent.api.pod_types import Pod, decode_pod
from understudy.embedded.agent.containers.observed_container import (
    HookState,
    ObservedContainer,
    StartRefusal,
    StopRequest,
    Termination,
)
from understudy.embedded.agent.pods.lifecycle import (
    BeginContainerStop,
    KillContainer,
    PodDecision,
    PodState,
    RunPostStart,
    RunPreStop,
    StartContainer,
    TerminateContainer,
    decide,
)

NOW = 1_000_000.0


def pod(*containers: str, init: tuple[str, ...] = (), meta: dict[str, Any] | None = None, **spec: Any) -> Pod:
    """Names of init containers that end in `+` are sidecars."""
    inits = [{"name": name.rstrip("+"), **({"restartPolicy": "Always"} if name.endswith("+") else {})} for name in init]
    mains = [{"name": name} for name in containers or ("main",)]
    document = {"metadata": meta or {}, "spec": {"initContainers": inits, "containers": mains, **spec}}
    return decode_pod(msgspec.json.encode(document))


def ended(
    code: int = 0, *, ago: float = 0.0, ran: float = 1.0, attempt: int = 0, delay: float = 0.0
) -> ObservedContainer:
    end = Termination(code, "Error" if code else "Completed", NOW - ago, NOW - ago - ran)
    return ObservedContainer(attempt=attempt, delay=delay, end=end, started_at=end.started_at)


def running(**more: Any) -> ObservedContainer:
    return ObservedContainer(**{"attempt": 0, "started_at": NOW - 5, "started": True, "ready": True, **more})


def stopping(*, begun: float = NOW, grace: float = 30.0, **more: Any) -> ObservedContainer:
    return running(stop=StopRequest(begun, grace), **more)


def deciding(pod: Pod, **more: Any) -> PodDecision:
    observations = {name: observed for name, observed in more.items() if isinstance(observed, ObservedContainer)}
    rest = {name: value for name, value in more.items() if name not in observations}
    return decide(PodState(**{"pod": pod, "observations": observations, "now": NOW, "started_at": NOW - 60, **rest}))


GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}
AT_ONCE = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}


class TestStarting:
    def test_all_containers_of_a_pod_start_together(self) -> None:
        assert deciding(pod("a", "b")).instructions == (StartContainer("a", 0, 0.0), StartContainer("b", 0, 0.0))

    def test_init_containers_go_one_after_the_other(self) -> None:
        one = pod("main", init=("first", "second"))
        assert deciding(one).instructions == (StartContainer("first", 0, 0.0),)
        assert deciding(one, first=running()).instructions == ()
        assert deciding(one, first=ended()).instructions == (StartContainer("second", 0, 0.0),)
        assert deciding(one, first=ended(), second=ended()).instructions == (StartContainer("main", 0, 0.0),)

    def test_a_sidecar_lets_the_next_one_start_once_it_is_up(self) -> None:
        one = pod("main", init=("proxy+", "setup"))
        assert deciding(one).instructions == (StartContainer("proxy", 0, 0.0),)
        assert deciding(one, proxy=running(started=False)).instructions == ()
        assert deciding(one, proxy=running()).instructions == (StartContainer("setup", 0, 0.0),)
        assert deciding(one, proxy=running(), setup=ended()).instructions == (StartContainer("main", 0, 0.0),)

    def test_a_sidecar_that_ends_is_restarted_and_blocks_no_other_container(self) -> None:
        one = pod("a", "b", init=("proxy+",))
        decision = deciding(one, proxy=ended(), a=running(), b=ended(1))
        assert decision.instructions == (StartContainer("proxy", 1, 0.0), StartContainer("b", 1, 0.0))

    def test_a_start_is_ordered_once(self) -> None:
        assert deciding(pod(), main=ObservedContainer(attempt=0, asked=True)).instructions == ()

    def test_a_refused_start_is_tried_again_later(self) -> None:
        refused = ObservedContainer(refusal=StartRefusal("CreateContainerConfigError", "no such key", NOW + 3))
        assert deciding(pod(), main=refused) == PodDecision(wake_at=NOW + 3)
        assert deciding(pod(), main=refused, now=NOW + 3).instructions == (StartContainer("main", 0, 0.0),)

    def test_the_hook_after_the_start_runs_once(self) -> None:
        hooked = {"name": "main", "lifecycle": {"postStart": {"exec": {"command": ["true"]}}}}
        one = decode_pod(msgspec.json.encode({"metadata": {}, "spec": {"containers": [hooked]}}))
        assert deciding(one, main=running()).instructions == (RunPostStart("main"),)
        assert deciding(one, main=running(post_start=HookState.RUNNING)).instructions == ()


class TestRestarting:
    @pytest.mark.parametrize(
        ("policy", "code", "comes_back"),
        [
            ("Always", 0, True),
            ("Always", 1, True),
            ("OnFailure", 0, False),
            ("OnFailure", 1, True),
            ("Never", 0, False),
            ("Never", 1, False),
        ],
    )
    def test_the_restart_policy(self, policy: str, code: int, comes_back: bool) -> None:
        decision = deciding(pod(restartPolicy=policy), main=ended(code))
        assert decision.instructions == ((StartContainer("main", 1, 0.0),) if comes_back else ())
        assert decision.over is not comes_back

    @pytest.mark.parametrize(
        ("attempt", "delay", "expected"),
        [(1, 0.0, 10.0), (2, 10.0, 20.0), (3, 20.0, 40.0), (6, 160.0, 300.0), (7, 300.0, 300.0)],
    )
    def test_the_back_off_grows(self, attempt: int, delay: float, expected: float) -> None:
        observed = ended(1, attempt=attempt, delay=delay)
        assert deciding(pod(), main=observed).wake_at == NOW + expected
        assert deciding(pod(), main=observed, now=NOW + expected).instructions == (
            StartContainer("main", attempt + 1, expected),
        )

    def test_a_long_run_resets_the_back_off(self) -> None:
        observed = ended(1, attempt=7, delay=300.0, ran=600.0)
        assert deciding(pod(), main=observed).instructions == (StartContainer("main", 8, 0.0),)

    def test_an_init_container_is_tried_until_it_succeeds(self) -> None:
        assert deciding(pod(init=("setup",)), setup=ended(1)).instructions == (StartContainer("setup", 1, 0.0),)

    def test_an_init_container_that_must_not_be_tried_again_ends_the_pod(self) -> None:
        assert deciding(pod(init=("setup",), restartPolicy="Never"), setup=ended(1)).over

    def test_a_container_that_fails_a_probe_is_stopped_and_restarted(self) -> None:
        assert deciding(pod(), main=stopping()).instructions == (TerminateContainer("main"),)
        assert deciding(pod(), main=ended(143)).instructions == (StartContainer("main", 1, 0.0),)

    def test_the_others_stay_while_one_is_stopped(self) -> None:
        decision = deciding(pod("a", "b"), a=stopping(), b=running())
        assert decision.instructions == (TerminateContainer("a"),)
        assert not decision.ending


class TestEnding:
    def test_a_deleted_pod_gets_sigterm_then_sigkill(self) -> None:
        one = pod(meta=GOING)
        assert deciding(one, main=running()).instructions == (BeginContainerStop("main", 30.0),)
        assert deciding(one, main=stopping()).instructions == (TerminateContainer("main"),)
        asked = stopping(terminated_at=NOW)
        waits = deciding(one, main=asked, ending_since=NOW)
        assert (waits.instructions, waits.wake_at, waits.over) == ((), NOW + 30, False)
        assert deciding(one, main=asked, now=NOW + 30, ending_since=NOW).instructions == (KillContainer("main"),)
        assert deciding(one, main=ended(137)).over

    def test_a_shorter_grace_period_counts_from_the_first_signal(self) -> None:
        hurried = pod(meta={**GOING, "deletionGracePeriodSeconds": 2})
        decision = deciding(hurried, main=stopping(terminated_at=NOW - 5), ending_since=NOW - 5)
        assert decision.instructions == (KillContainer("main"),)

    def test_no_grace_means_killed_at_once(self) -> None:
        assert deciding(pod(meta=AT_ONCE), main=stopping()).instructions == (KillContainer("main"),)

    def test_a_pod_that_is_no_longer_in_the_api_is_killed_at_once(self) -> None:
        assert deciding(pod(), main=stopping(), gone=True).instructions == (KillContainer("main"),)

    def test_nothing_starts_in_a_pod_that_is_to_end(self) -> None:
        decision = deciding(pod("a", "b", meta=GOING), a=ended(1))
        assert decision.instructions == ()
        assert decision.over

    def test_a_start_under_way_is_waited_for(self) -> None:
        decision = deciding(pod(meta=GOING), main=ObservedContainer(attempt=0, asked=True))
        assert decision == PodDecision(ending=True)

    def test_the_hook_before_the_end_counts_against_the_grace_period(self) -> None:
        hooked = {"name": "main", "lifecycle": {"preStop": {"exec": {"command": ["true"]}}}}
        one = decode_pod(msgspec.json.encode({"metadata": GOING, "spec": {"containers": [hooked]}}))
        assert deciding(one, main=stopping()).instructions == (RunPreStop("main"),)
        in_hook = stopping(pre_stop=HookState.RUNNING)
        assert deciding(one, main=in_hook, ending_since=NOW).wake_at == NOW + 30
        late = NOW + 30
        assert deciding(one, main=in_hook, ending_since=NOW, now=late).instructions == (TerminateContainer("main"),)
        last_words = msgspec.structs.replace(in_hook, terminated_at=late)
        assert deciding(one, main=last_words, ending_since=NOW, now=late).wake_at == late + 2
        assert deciding(one, main=last_words, ending_since=NOW, now=late + 2).instructions == (KillContainer("main"),)

    def test_sidecars_go_last_and_in_reverse(self) -> None:
        one = pod("main", init=("x+", "y+"), meta=GOING)
        assert deciding(one, x=running(), y=running(), main=running()).instructions == (
            BeginContainerStop("main", 30.0),
        )
        assert deciding(one, x=running(), y=running(), main=ended()).instructions == (BeginContainerStop("y", 30.0),)
        assert deciding(one, x=running(), y=ended(), main=ended()).instructions == (BeginContainerStop("x", 30.0),)

    def test_sidecars_end_when_the_work_is_done(self) -> None:
        decision = deciding(pod("main", init=("x+",), restartPolicy="Never"), x=running(), main=ended())
        assert decision.instructions == (BeginContainerStop("x", 30.0),)

    def test_a_pod_whose_phase_was_set_to_failed_is_stopped(self) -> None:
        document = {"metadata": {}, "spec": {"containers": [{"name": "main"}]}, "status": {"phase": "Failed"}}
        one = decode_pod(msgspec.json.encode(document))
        assert deciding(one, main=running()).instructions == (BeginContainerStop("main", 30.0),)


class TestDeadline:
    def test_a_pod_that_is_active_for_too_long_fails(self) -> None:
        one = pod(activeDeadlineSeconds=60, restartPolicy="Never")
        assert deciding(one, main=running(), now=NOW - 1).wake_at == NOW
        late = deciding(one, main=running())
        assert late.instructions == (BeginContainerStop("main", 30.0),)
        over = deciding(one, main=ended(143))
        assert over.over
        assert over.failure is not None
        assert over.failure.reason == "DeadlineExceeded"

    def test_a_pod_that_was_done_in_time_does_not(self) -> None:
        decision = deciding(pod(activeDeadlineSeconds=60, restartPolicy="Never"), main=ended(ago=1.0))
        assert decision.over
        assert decision.failure is None
