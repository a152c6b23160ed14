"""The server, its clock, permissions, operators and work, as findings; and findings as text."""

from typing import Any

import msgspec
import pytest

from tests.cli.doctor.cases import SERVED, gpu_pod, leadership, nodes_seen, seen, texts
from understudy.cli.doctor import installation, server, workloads
from understudy.cli.doctor.collect import clock_skew
from understudy.cli.doctor.facts import CheckupRequest, DeniedRequest, Rights
from understudy.cli.doctor.findings import (
    Level,
    Section,
    all_well,
    care,
    named,
    note,
    report_figures,
    report_lines,
    well,
    wrong,
)
from understudy.cli.input.settings import Origin
from understudy.cli.output.terminal import Painter
from understudy.cli.queries.job_objects import JobObject
from understudy.cli.verbs.doctor import home_of
from understudy.kube.permissions import PERMISSIONS
from understudy.objects.resources import JOBS

ACCOUNT = "system:serviceaccount:understudy-system:understudy"


@pytest.mark.parametrize(
    ("skew", "level"),
    [(None, Level.NOTE), (0.0, Level.WELL), (1.5, Level.WELL), (-5.0, Level.CARE), (60.0, Level.WRONG)],
)
def test_clocks(skew: float | None, level: Level) -> None:
    assert server.check_server(seen(skew=skew))[1].level is level


def test_whole_seconds_are_no_skew() -> None:
    assert clock_skew(100.0, 100.9, 100.95) == 0.0
    assert clock_skew(100.0, 101.5, 101.6) == pytest.approx(-0.5)
    assert clock_skew(105.0, 100.0, 100.5) == pytest.approx(4.5)


@pytest.mark.parametrize(
    ("version", "level"), [("v1.37.1", Level.WELL), ("v1.24.0", Level.CARE), ("v1.29.3-gke.1", Level.WELL)]
)
def test_old_servers_are_told(version: str, level: Level) -> None:
    assert server.check_server(seen(version=version))[0].level is level


DENIED = tuple(DeniedRequest(one, verb) for one in PERMISSIONS for verb in one.verbs)


def test_what_an_account_may_not_do_is_wrong_and_named() -> None:
    one = next(one for one in DENIED if (one.permission.resource, one.verb) == ("pods/binding", "create"))
    [found] = server.check_permissions(seen(request=CheckupRequest(account=ACCOUNT), rights=Rights(50, (one,))))
    assert (found.level, bool(found.fix)) == (Level.WRONG, True)
    assert found.text == f"{ACCOUNT} may not create pods/binding: it gets its seat"
    every = server.check_permissions(seen(request=CheckupRequest(account=ACCOUNT), rights=Rights(len(DENIED), DENIED)))
    assert len(every) <= 12
    assert every[-1].fix.startswith("and ")


def test_people_need_not_be_allowed_what_understudy_does() -> None:
    [found] = server.check_permissions(seen(user="jane", rights=Rights(50, DENIED[:2])))
    assert (found.level, ACCOUNT in found.fix) == (Level.CARE, True)
    [fine] = server.check_permissions(seen(user="jane", rights=Rights(50)))
    assert (fine.level, fine.text.split()[0]) == (Level.WELL, "jane")
    assert server.check_permissions(seen(rights=Rights(trouble="forbidden")))[0].level is Level.CARE


def test_where_an_account_lives() -> None:
    assert home_of(ACCOUNT.replace("-system", "-two")) == "understudy-two"
    assert home_of("jane") == home_of("") == "understudy-system"


def test_operators_and_versions_that_cannot_be_read() -> None:
    served = {
        **SERVED,
        "jobset.x-k8s.io": {"v1alpha2": frozenset({"jobsets"})},
        "kubeflow.org": {"v1": frozenset({"pytorchjobs", "mpijobs"}), "v2beta1": frozenset({"mpijobs"})},
        "trainer.kubeflow.org": {"v2": frozenset({"trainjobs"})},
        "kueue.x-k8s.io": {"v1beta1": frozenset({"workloads"})},
    }
    found = workloads.check_operators(seen(served=served))
    assert texts(found, Level.WELL)[:3] == [
        "JobSet: jobsets (v1alpha2)",
        "training-operator: pytorchjobs (v1)",
        "mpi-operator: mpijobs (v1, v2beta1)",
    ]
    assert texts(found, Level.CARE) == ["Trainer: trainjobs (v2): trainjobs cannot be read"]
    assert texts(found, Level.NOTE) == ["not there: Volcano, scheduler-plugins, Kubernetes' own groups"]


def test_who_schedules_what() -> None:
    pods = [gpu_pod("a", schedulerName="understudy"), gpu_pod("b", "n", schedulerName="understudy"), gpu_pod("c")]
    facts = nodes_seen([], *pods)
    lead = (leadership(1),)
    found = workloads.check_pods(seen(**facts, leader_leases=lead))
    assert texts(found) == [
        "understudy: 2 pods, 1 waiting for a seat",
        "default-scheduler: 1 pod, 1 waiting for a seat",
    ]
    assert [one.level for one in found] == [Level.WELL, Level.NOTE]
    assert workloads.check_pods(seen(**facts))[0].level is Level.WRONG
    assert texts(workloads.check_pods(seen(**facts, embedded=True))) == ["3 pods, 2 waiting for a seat"]
    assert workloads.check_pods(seen(pods=None))[0].level is Level.CARE


def queued(name: str) -> JobObject:
    return JobObject(JOBS, {"metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "q"}}})


def test_jobs_that_kueue_queues() -> None:
    kueue = {**SERVED, "kueue.x-k8s.io": {"v1beta1": frozenset({"workloads"})}}
    assert workloads.check_pods(seen(jobs=(queued("a"),), served=kueue))[-1].level is Level.NOTE
    assert workloads.check_pods(seen(jobs=(queued("a"),)))[-1].level is Level.CARE


def test_settings_that_are_not_the_default() -> None:
    given = (Origin("policy.minRuntime", 300, "understudy.yaml"), Origin("policy.spares", [], "default"))
    assert (
        texts(installation.check_settings(seen(settings=given)))[0] == "policy.minRuntime = 300 (from understudy.yaml)"
    )
    assert texts(installation.check_settings(seen(embedded=True))) == ["all defaults"]


def test_findings_in_words_and_figures() -> None:
    sections = [Section("One", (well("fine"), note("by the way"))), Section("Two", (care("mind", "do this"),))]
    assert report_lines(sections, Painter()) == [
        "One", "  ✓ fine", "  · by the way", "", "Two", "  ! mind", "      → do this", "", "all well, 1 to mind (!)",
    ]  # fmt: skip
    assert all_well(sections)
    bad = [*sections, Section("Three", (wrong("broken", "mend it"),))]
    assert report_lines(bad, Painter())[-1] == "1 wrong (✗), 1 to mind (!)"
    told: Any = report_figures(bad)
    assert not told["well"]
    assert told["sections"][2]["findings"] == [{"level": "wrong", "text": "broken", "fix": "mend it"}]
    assert msgspec.json.encode(told)
    assert named(list("abcdefg")) == "a, b, c, d, e and 2 more"
