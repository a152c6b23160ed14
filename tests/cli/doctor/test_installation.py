"""Who leads, and whether namespaces can be opted in."""

from typing import Any

import pytest

from tests.cli.doctor.cases import SERVED, leadership, namespace, seen, texts, worst
from tests.deploy.manifests import the
from understudy.cli.doctor.facts import CheckupRequest
from understudy.cli.doctor.findings import Level
from understudy.cli.doctor.installation import check_installation, leads

POLICY: dict[str, Any] = {
    "policies": (the("MutatingAdmissionPolicy"),),
    "bindings": (the("MutatingAdmissionPolicyBinding"),),
}
OPTED = (namespace("team", **{"understudy.dev/schedule": "true"}), namespace("other"))


def test_all_is_well_where_one_leads_and_the_policy_is_there() -> None:
    found = check_installation(seen(leader_leases=(leadership(3.2),), namespaces=OPTED, **POLICY))
    assert worst(found) is Level.WELL
    assert texts(found) == [
        "understudy-abc leads, in understudy-system (heard of 3 s ago)",
        "incidents are kept",
        "namespaces can be opted in as a whole: team",
    ]


@pytest.mark.parametrize(
    ("leader_leases", "level"), [((), Level.CARE), (None, Level.NOTE), ((leadership(300),), Level.WRONG)]
)
def test_no_replica_leads(leader_leases: Any, level: Level) -> None:
    patient = seen(leader_leases=leader_leases, **POLICY)
    assert not leads(patient)
    assert check_installation(patient)[0].level is level


def test_a_released_lease_has_no_holder() -> None:
    [first, *_] = check_installation(seen(leader_leases=(leadership(1.0, holder=""),), **POLICY))
    assert (first.level, first.text) == (Level.WRONG, "no replica has led in understudy-system for 1 s")


def test_the_age_of_a_lease_is_counted_by_the_clock_of_the_cluster() -> None:
    assert leads(seen(leader_leases=(leadership(300),), skew=-299.0))


@pytest.mark.parametrize(
    ("facts", "problem"),
    [
        ({"served": {"understudy.dev": SERVED["understudy.dev"]}}, "this cluster has no MutatingAdmissionPolicy"),
        ({"policies": ()}, "no policy gives pods to understudy"),
        ({"request": CheckupRequest(scheduler="second")}, "no policy gives pods to second"),
        ({"bindings": ()}, "policy understudy has no binding"),
        ({"policies": None}, "policies may not be looked at"),
    ],
)
def test_a_label_without_a_policy_is_wrong(facts: dict[str, Any], problem: str) -> None:
    last = check_installation(seen(namespaces=OPTED, **{**POLICY, **facts}))[-1]
    assert (last.level, problem in last.text, bool(last.fix)) == (Level.WRONG, True, True)
    assert check_installation(seen(namespaces=(), **{**POLICY, **facts}))[-1].level is Level.NOTE


def test_incidents_need_their_kind() -> None:
    found = check_installation(seen(served={}, leader_leases=(leadership(1),)))
    assert "incidents are not kept: the cluster does not know the kind" in texts(found, Level.CARE)


def test_an_embedded_cluster_needs_nothing_of_it() -> None:
    assert worst(check_installation(seen(embedded=True))) is Level.WELL
