"""Workloads with kubectl, in every minor version at hand: rollouts, scales, quotas, pruning, and dumps of a cluster."""

import base64
import json
from pathlib import Path
from typing import Any

from tests.clients.shell import Shell
from tests.eventually import eventually

SLEEPS = ["sh", "-c", "exec sleep 600"]
REMOVED = "--timeout=60s"


def template(app: str, image: str = "busybox:1") -> dict[str, Any]:
    container = {"name": "main", "image": image, "command": SLEEPS}
    spec = {"terminationGracePeriodSeconds": 1, "containers": [container]}
    return {"metadata": {"labels": {"app": app}}, "spec": spec}


def workload(kind: str, name: str, **spec: Any) -> str:
    selector = {"matchLabels": {"app": name}}
    whole = {"selector": selector, "template": template(name), **spec}
    return json.dumps({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": whole})


def names(kubectl: Shell, kind: str, *more: str) -> list[str]:
    return kubectl("get", kind, *more, "-o", "jsonpath={.items[*].metadata.name}").out.split()


def images(kubectl: Shell, app: str) -> set[str]:
    path = "jsonpath={.items[*].spec.containers[*].image}"
    return set(kubectl("get", "pods", "-l", f"app={app}", "-o", path).out.split())


def test_a_deployment_is_rolled_out_and_back(kubectl: Shell) -> None:
    kubectl("create", "deployment", "web", "--image=busybox:1", "--replicas=2", "--", *SLEEPS)
    kubectl("rollout", "status", "deployment/web", REMOVED)
    assert kubectl("get", "deployment", "web").rows()[1][:4] == ["web", "2/2", "2", "2"]
    kubectl("set", "image", "deployment/web", "busybox=busybox:2")
    assert "successfully rolled out" in kubectl("rollout", "status", "deployment/web", REMOVED).out
    assert [row[0] for row in kubectl("rollout", "history", "deployment/web").rows()[2:] if row] == ["1", "2"]
    kubectl("rollout", "undo", "deployment/web")
    kubectl("rollout", "status", "deployment/web", REMOVED)
    eventually(lambda: images(kubectl, "web") == {"busybox:1"})
    kubectl("rollout", "pause", "deployment/web")
    assert "paused" in kubectl("rollout", "restart", "deployment/web", fails=True).err
    kubectl("rollout", "resume", "deployment/web")
    before = set(names(kubectl, "pods", "-l", "app=web"))
    kubectl("rollout", "restart", "deployment/web")
    kubectl("rollout", "status", "deployment/web", REMOVED)
    eventually(lambda: not before & set(names(kubectl, "pods", "-l", "app=web")))
    assert "Replicas:" in kubectl("describe", "deployment", "web").out
    kubectl("delete", "deployment", "web", REMOVED)
    eventually(lambda: names(kubectl, "pods,replicasets", "-l", "app=web") == [])


def test_a_deployment_is_scaled_and_its_autoscaler_is_kept(kubectl: Shell) -> None:
    kubectl("create", "deployment", "scaled", "--image=busybox", "--", *SLEEPS)
    kubectl("scale", "deployment/scaled", "--replicas=3", "--current-replicas=1")
    kubectl("wait", "--for=jsonpath={.status.readyReplicas}=3", "deployment/scaled", REMOVED)
    assert (
        "expected"
        in kubectl("scale", "deployment/scaled", "--replicas=2", "--current-replicas=1", fails=True).err.lower()
    )
    made = kubectl("autoscale", "deployment", "scaled", "--min=1", "--max=4", "--cpu-percent=80")
    assert made.out == "horizontalpodautoscaler.autoscaling/scaled autoscaled\n"
    assert "HorizontalPodAutoscaler has no effect on an embedded cluster" in made.err
    assert kubectl("get", "hpa", "scaled").rows()[1][:2] == ["scaled", "Deployment/scaled"]
    assert "80%" in kubectl("describe", "hpa", "scaled").out
    kubectl("delete", "deployment,hpa", "scaled", REMOVED)


def test_an_autoscaler_of_the_old_version_is_applied(kubectl: Shell) -> None:
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec: dict[str, Any] = {"scaleTargetRef": reference, "maxReplicas": 3, "targetCPUUtilizationPercentage": 70}
    old = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "old"}, "spec": spec}
    for aim, said in ((70, "created"), (70, "unchanged"), (75, "configured")):
        spec["targetCPUUtilizationPercentage"] = aim
        told = kubectl("apply", "-f", "-", stdin=json.dumps(old)).out
        assert told == f"horizontalpodautoscaler.autoscaling/old {said}\n"
        aimed = "jsonpath={.spec.metrics[0].resource.target.averageUtilization}"
        assert kubectl("get", "hpa", "old", "-o", aimed).out == str(aim)
    kubectl("delete", "hpa", "old")


def test_a_stateful_set_keeps_its_names_and_goes_back(kubectl: Shell) -> None:
    kubectl("apply", "-f", "-", stdin=workload("StatefulSet", "db", replicas=2, serviceName="db"))
    kubectl("rollout", "status", "statefulset/db", REMOVED)
    assert names(kubectl, "pods", "-l", "app=db") == ["db-0", "db-1"]
    kubectl("set", "image", "statefulset/db", "main=busybox:2")
    kubectl("rollout", "status", "statefulset/db", REMOVED)
    assert images(kubectl, "db") == {"busybox:2"}
    kubectl("rollout", "undo", "statefulset/db")
    kubectl("rollout", "status", "statefulset/db", REMOVED)
    assert images(kubectl, "db") == {"busybox:1"}
    kubectl("scale", "statefulset/db", "--replicas=1")
    eventually(lambda: names(kubectl, "pods", "-l", "app=db") == ["db-0"])
    kubectl("delete", "statefulset", "db", REMOVED)


def test_a_daemon_set_has_a_pod_on_every_node_it_tolerates(kubectl: Shell) -> None:
    kubectl("apply", "-f", "-", stdin=workload("DaemonSet", "every"))
    kubectl("rollout", "status", "daemonset/every", REMOVED)
    seats = kubectl("get", "pods", "-l", "app=every", "-o", "jsonpath={.items[*].spec.nodeName}").out.split()
    assert sorted(seats) == names(kubectl, "nodes", "-l", "example.com/pool=workers")
    kubectl("set", "image", "daemonset/every", "main=busybox:2")
    kubectl("rollout", "status", "daemonset/every", REMOVED)
    kubectl("rollout", "undo", "daemonset/every")
    kubectl("rollout", "status", "daemonset/every", REMOVED)
    assert images(kubectl, "every") == {"busybox:1"}
    kubectl("delete", "daemonset", "every", REMOVED)


def test_a_cron_job_is_run_by_hand(kubectl: Shell) -> None:
    kubectl("create", "cronjob", "nightly", "--image=busybox", "--schedule=0 3 * * *", "--", "sh", "-c", "echo ran")
    assert kubectl("get", "cronjob", "nightly").rows()[1][:2] == ["nightly", "0"]
    kubectl("create", "job", "now", "--from=cronjob/nightly")
    kubectl("wait", "--for=condition=Complete", "job/now", REMOVED)
    assert kubectl("logs", "job/now").out == "ran\n"
    kubectl("patch", "cronjob", "nightly", "-p", '{"spec": {"suspend": true}}')
    assert "True" in kubectl("get", "cronjob", "nightly").rows()[1]
    kubectl("delete", "cronjob", "nightly", REMOVED)
    eventually(lambda: names(kubectl, "jobs") == [])  # it owns the job that was made from it


def test_top_and_quotas_count_what_runs(kubectl: Shell) -> None:
    kubectl("create", "quota", "small", "--hard=count/deployments.apps=1,pods=2")
    kubectl("create", "deployment", "first", "--image=busybox", "--", *SLEEPS)
    kubectl("rollout", "status", "deployment/first", REMOVED)
    assert ["pods", "1", "2"] in kubectl("describe", "quota", "small").rows()
    refused = kubectl("create", "deployment", "second", "--image=busybox", "--", *SLEEPS, fails=True).err
    assert "exceeded quota: small" in refused
    assert kubectl("top", "pods").rows()[0] == ["NAME", "CPU(cores)", "MEMORY(bytes)"]
    assert [row[0] for row in kubectl("top", "nodes").rows()[1:]] == names(kubectl, "nodes")
    kubectl("delete", "deployment/first", "quota/small", REMOVED)


def test_apply_prunes_what_is_not_in_the_manifests_any_more(kubectl: Shell) -> None:
    def manifests(*kept: str) -> str:
        labels = {"part-of": "pruned"}
        items = [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}} for name in kept
        ]
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})

    pruning = ("apply", "--prune", "-l", "part-of=pruned", "-f", "-")
    kubectl(*pruning, stdin=manifests("one", "two"))
    assert "configmap/two pruned" in kubectl(*pruning, stdin=manifests("one")).out
    assert names(kubectl, "configmaps", "-l", "part-of=pruned") == ["one"]


def test_a_kustomization_is_applied(kubectl: Shell, tmp_path: Path) -> None:
    (tmp_path / "deployment.yaml").write_text(workload("Deployment", "custom"))
    generated = [{"name": "settings", "literals": ["a=b"]}]
    kustomization = {"resources": ["deployment.yaml"], "configMapGenerator": generated, "namePrefix": "my-"}
    (tmp_path / "kustomization.yaml").write_text(json.dumps(kustomization))
    kubectl("apply", "-k", str(tmp_path))
    kubectl("rollout", "status", "deployment/my-custom", REMOVED)
    assert "unchanged" in kubectl("apply", "-k", str(tmp_path)).out
    assert [name for name in names(kubectl, "configmaps") if name.startswith("my-settings-")]
    kubectl("delete", "-k", str(tmp_path), REMOVED)


def test_the_cluster_is_dumped(kubectl: Shell, tmp_path: Path) -> None:
    kubectl("create", "deployment", "dumped", "--image=busybox", "--", "sh", "-c", "echo hello; exec sleep 600")
    kubectl("rollout", "status", "deployment/dumped", REMOVED)
    [pod] = names(kubectl, "pods", "-l", "app=dumped")
    eventually(lambda: kubectl("logs", pod).out == "hello\n")
    kubectl("cluster-info", "dump", f"--namespaces={kubectl.namespace}", f"--output-directory={tmp_path}")
    dump = tmp_path / kubectl.namespace
    assert "dumped" in (dump / "deployments.json").read_text()
    assert "hello" in (dump / pod / "logs.txt").read_text()
    kubectl("delete", "deployment", "dumped", REMOVED)


def test_kinds_without_effect_are_stored(kubectl: Shell) -> None:
    name = f"stored-{kubectl.namespace}"
    for head, spec in (
        ({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass"}, {"handler": "nvidia"}),
        ({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver"}, {"spec": {"attachRequired": False}}),
        ({"apiVersion": "v1", "kind": "PodTemplate"}, {"template": template("any")}),
        (
            {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy"},
            {"spec": {"validations": [{"expression": "true"}]}},
        ),
    ):
        manifest = json.dumps({**head, "metadata": {"name": name}, **spec})
        assert f"{head['kind']} has no effect on an embedded cluster" in kubectl("apply", "-f", "-", stdin=manifest).err
        assert kubectl("get", head["kind"].lower(), name).rows()[1][0] == name
        kubectl("delete", head["kind"].lower(), name, REMOVED)


def test_secrets_and_rights_are_made_from_the_command_line(kubectl: Shell) -> None:
    kubectl("create", "secret", "generic", "key", "--from-literal=a=hello")
    encoded = kubectl("get", "secret", "key", "-o", "jsonpath={.data.a}").out
    assert base64.b64decode(encoded) == b"hello"
    kubectl("create", "serviceaccount", "reader")
    account = f"system:serviceaccount:{kubectl.namespace}:reader"
    assert kubectl("auth", "can-i", "get", "secrets", f"--as={account}", fails=True).out == "no\n"
    role = f"reads-{kubectl.namespace}"
    kubectl("create", "clusterrole", role, "--verb=get", "--resource=secrets")
    kubectl("create", "rolebinding", "reads", f"--clusterrole={role}", f"--serviceaccount={kubectl.namespace}:reader")
    assert kubectl("auth", "can-i", "get", "secrets", f"--as={account}").out == "yes\n"
    token = kubectl("create", "token", "reader").out.strip()
    assert kubectl("get", "secret", "key", "--token", token, "-o", "name").out == "secret/key\n"
    kubectl("delete", "clusterrole", role)
