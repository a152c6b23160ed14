"""Reading verbs on a cluster that is not embedded, where Understudy may not be installed, nor run."""

import json

import pytest

from tests.cli.shell import Shell
from tests.cli.submit.api import Api
from tests.embedded.manifests import lone_pod
from tests.embedded.real_cluster import node

NODES, PODS = "/api/v1/nodes", "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/understudy/leases"
NOT_INSTALLED = "Understudy is not installed in this cluster: helm install understudy deploy/helm/understudy"


@pytest.fixture
def api(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Api:
    found = Api(shell, monkeypatch)
    found.be_elsewhere()
    return found


def submit(api: Api, scheduler: str) -> None:
    """A Job, and the pod that its controller would make."""
    api.run("submit", "job", "--name=j", "--image=i", f"--scheduler={scheduler}", "true")
    job = api.get(f"{JOBS}/j")
    assert job is not None
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": job["metadata"]["uid"], "controller": True}
    pod = lone_pod("j-0-abcde")
    pod["metadata"] |= {"ownerReferences": [owner], "labels": {"job-name": "j", "batch.kubernetes.io/job-name": "j"}}
    pod["spec"]["schedulerName"] = scheduler
    api.post(PODS, pod)


def test_incidents_say_that_understudy_is_not_installed(api: Api) -> None:
    assert api.shell.run("incidents") == (1, "", f"understudy: {NOT_INSTALLED}\n")
    api.define("incidents")
    assert api.shell.run("incidents") == (0, "No incidents in namespace default.\n", "")


def test_a_job_whose_scheduler_is_absent_is_told_so(api: Api) -> None:
    submit(api, "understudy")
    assert api.run("why", "j").splitlines()[-1] == f"Its pods ask for the scheduler understudy. {NOT_INSTALLED}."
    api.define("incidents")
    ask = "understudy plan --from-cluster --explain Job/default/j"
    assert api.run("why", "j").splitlines()[-1] == (f"Understudy has not said why yet; `{ask}` tells what it would do.")


def test_a_job_of_another_scheduler_is_left_to_that_one(api: Api) -> None:
    submit(api, "volcano")
    said = "Its pods ask for the scheduler volcano, which has not said why they wait."
    assert api.run("why", "j").splitlines()[-1] == said


def test_a_pod_without_a_seat_has_no_log(api: Api) -> None:
    submit(api, "understudy")
    assert api.shell.run("logs", "j") == (1, "", "understudy: j-0-abcde has no log yet\n")


def test_status_tells_who_schedules_there(api: Api) -> None:
    api.post(NODES, node("a"))
    api.post(PODS, lone_pod("theirs"))
    ours = lone_pod("ours")
    ours["spec"]["schedulerName"] = "understudy"
    api.post(PODS, ours)
    elsewhere = ("status", "--kubeconfig", "elsewhere")
    version, *lines = api.run(*elsewhere).splitlines()
    assert version.startswith("https://elsewhere.example:6443: Kubernetes v")
    assert lines == [
        "  nodes       0 of 1 ready",
        "  pods        2 pending",
        "  ours        1 with schedulerName understudy, 1 of them without a seat",
        "  understudy  not installed: helm install understudy deploy/helm/understudy",
    ]
    api.define("incidents")
    assert api.run(*elsewhere).splitlines()[-1] == "  understudy  installed; no replica leads"
    api.post("/api/v1/namespaces", {"metadata": {"name": "understudy"}})
    api.post(LEASES, {"metadata": {"name": "understudy"}, "spec": {"holderIdentity": "understudy-0"}})
    assert api.run(*elsewhere).splitlines()[-1] == "  understudy  installed; understudy-0 leads"
    found = json.loads(api.run(*elsewhere, "-o", "json"))["elsewhere"]
    assert (found["ours"], found["waiting"], found["installed"], found["leader"]) == (1, 1, True, "understudy-0")


def test_status_of_a_cluster_that_does_not_let_us_look(api: Api) -> None:
    from understudy.ports import Refused

    api.troubles["GET /api/v1/nodes"] = Refused(403, "Forbidden", "nodes is forbidden")
    code, out, err = api.shell.run("status", "--kubeconfig", "elsewhere")
    assert (code, out, err) == (1, "https://elsewhere.example:6443: nodes is forbidden\n", "")


def test_status_is_about_one_cluster_or_the_other(api: Api) -> None:
    refused = api.refuses("status", "--name=default", "--context=c")
    assert refused == (
        "understudy: --name names an embedded cluster, --kubeconfig and --context any other: give one of them"
    )
    assert api.refuses("status", "--context=d").endswith("contexts: there is no context named 'd'")


def test_plan_takes_the_pods_that_ask_for_us(api: Api) -> None:
    api.post(NODES, node("a"))
    api.post(PODS, lone_pod("theirs"))
    ours = lone_pod("ours")
    ours["spec"]["schedulerName"] = "understudy"
    api.post(PODS, ours)
    written = list(api.log)
    code, out, err = api.shell.run("plan", "--from-cluster", "-o", "json")
    assert code == 0
    assert [action["gang"] for action in json.loads(out)["actions"]] == ["Pod/default/ours"]
    assert err == (
        "note: https://elsewhere.example:6443: 1 node, 2 pods; pods with schedulerName understudy are ours; "
        "settings: the defaults; --settings names others\n"
    )
    _, out, _ = api.shell.run("plan", "--from-cluster", "-o", "json", "--scheduler", "")
    assert len(json.loads(out)["actions"]) == 2
    assert api.log == written
