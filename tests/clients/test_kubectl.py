"""A day with kubectl, in every minor version at hand: what a person types, and what they expect to see."""

import http
import json
import re
import signal
import time
import urllib.request

import pytest

from tests.clients.kubectls import at_hand
from tests.clients.shell import Shell

ENOUGH = 3


def pod(name: str, command: str, **spec: object) -> str:
    """A manifest in JSON, which kubectl takes as YAML."""
    container = {"name": "main", "image": "busybox", "command": ["sh", "-c", command]}
    whole = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container], **spec}
    labels = {"app": name}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": whole})


def test_there_are_enough_versions() -> None:
    if not at_hand():
        pytest.skip("there is neither kubectl nor Go on this machine")
    if len(at_hand()) < ENOUGH:
        pytest.skip(f"only kubectl {', '.join(one.version for one in at_hand())} is on this machine")
    assert len({one.version for one in at_hand()}) >= ENOUGH


def test_nodes_are_listed_with_their_columns(kubectl: Shell) -> None:
    rows = kubectl("get", "nodes").rows()
    assert rows[0] == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    assert {row[1] for row in rows[1:]} == {"Ready"}
    assert "INTERNAL-IP" in kubectl("get", "nodes", "-o", "wide").out
    names = kubectl("get", "nodes", "-o", "jsonpath={.items[*].metadata.name}").out.split()
    assert names == [row[0] for row in rows[1:]]
    told = kubectl("describe", "node", names[0]).out
    assert "nvidia.com/gpu" in told
    assert "-9223372036854775808" not in told


def test_a_pod_runs_logs_and_is_entered(kubectl: Shell) -> None:
    made = kubectl("create", "-f", "-", stdin=pod("greeter", "echo one; echo two; exec sleep 600"))
    assert made.out == "pod/greeter created\n"
    kubectl("wait", "--for=condition=Ready", "pod/greeter", "--timeout=30s")
    rows = kubectl("get", "pods", "greeter").rows()
    assert rows[0] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert rows[1][:4] == ["greeter", "1/1", "Running", "0"]
    assert "NOMINATED NODE" in kubectl("get", "pod", "greeter", "-o", "wide").out
    assert kubectl("logs", "greeter").out == "one\ntwo\n"
    assert kubectl("logs", "greeter", "--tail=1").out == "two\n"
    assert kubectl("logs", "greeter", "--since=1h", "--timestamps").out.count("Z ") == 2
    _enter(kubectl)
    told = kubectl("describe", "pod", "greeter").out
    assert "Successfully assigned" in told
    assert "Started" in told
    assert "greeter" in kubectl("get", "pods", "-l", "app in (greeter, other)").out
    assert "greeter" in kubectl("get", "pods", "--field-selector", "status.phase=Running").out
    assert "No resources found" in kubectl("get", "pods", "--field-selector", "spec.nodeName=").err
    kubectl("delete", "pod", "greeter", "--timeout=30s")
    assert "NotFound" in kubectl("get", "pod", "greeter", fails=True).err


def _enter(kubectl: Shell) -> None:
    if not kubectl.speaks_websockets:
        assert "over WebSockets only" in kubectl("exec", "greeter", "--", "true", fails=True).err
        return
    assert kubectl("exec", "greeter", "--", "echo", "inside").out == "inside\n"
    assert kubectl("exec", "-i", "greeter", "--", "cat", stdin="typed\n").out == "typed\n"
    assert kubectl("exec", "greeter", "--", "sh", "-c", "exit 7", fails=True).code == 7


SERVES = """
import http.server, os
os.chdir("/tmp")
http.server.HTTPServer((os.environ["ADDRESS"], 8000), http.server.SimpleHTTPRequestHandler).serve_forever()
"""


def test_a_port_of_a_pod_is_forwarded(kubectl: Shell) -> None:
    document = json.loads(pod("web", "unused"))
    document["spec"]["containers"][0] |= {
        "command": ["python3", "-c", SERVES],
        "env": [{"name": "ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "readinessProbe": {"tcpSocket": {"port": 8000}, "periodSeconds": 1},
    }
    kubectl("create", "-f", "-", stdin=json.dumps(document))
    kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")
    if not kubectl.forwards_over_websockets:
        assert "over WebSockets only" in kubectl("port-forward", "pod/web", ":8000", fails=True).err
        return
    forwarding = kubectl.start("port-forward", "pod/web", ":8000", "--address=127.0.0.1")
    try:
        assert forwarding.stdout is not None
        said = forwarding.stdout.readline()
        local = re.fullmatch(r"Forwarding from 127.0.0.1:(\d+) -> 8000\n", said)
        assert local is not None, said
        for _ in range(3):
            with urllib.request.urlopen(f"http://127.0.0.1:{local[1]}/", timeout=20) as answer:
                assert answer.status == http.HTTPStatus.OK
                assert b"Directory listing" in answer.read()
    finally:
        forwarding.send_signal(signal.SIGINT)
        forwarding.communicate(timeout=10)
    kubectl("delete", "pod", "web", "--now")


def test_attach_prints_what_a_container_writes_until_it_ends(kubectl: Shell) -> None:
    kubectl(
        "create",
        "-f",
        "-",
        stdin=pod("speaker", "while [ ! -e /tmp/$HOSTNAME ]; do echo here; sleep 0.2; done; rm /tmp/$HOSTNAME"),
    )
    kubectl("wait", "--for=condition=Ready", "pod/speaker", "--timeout=30s")
    if not kubectl.speaks_websockets:
        assert "over WebSockets only" in kubectl("attach", "speaker", fails=True).err
        return
    attached = kubectl.start("attach", "speaker")
    assert attached.stdout is not None
    assert attached.stdout.readline() == "here\n"
    kubectl("exec", "speaker", "--", "sh", "-c", "touch /tmp/$HOSTNAME")
    out, _ = attached.communicate(timeout=30)
    assert set(out.split()) <= {"here"}
    assert attached.returncode == 0
    kubectl("delete", "pod", "speaker", "--now")


def test_top_shows_what_pods_and_nodes_use(kubectl: Shell) -> None:
    kubectl("create", "-f", "-", stdin=pod("busy", "while :; do :; done"))
    kubectl("wait", "--for=condition=Ready", "pod/busy", "--timeout=30s")
    rows = kubectl("top", "pods").rows()
    assert rows[0] == ["NAME", "CPU(cores)", "MEMORY(bytes)"]
    [busy] = [row for row in rows[1:] if row[0] == "busy"]
    assert int(busy[1].removesuffix("m")) > 0
    assert busy[2].endswith("Mi")
    assert kubectl("top", "pod", "busy", "--containers").rows()[1][:2] == ["busy", "main"]
    nodes = kubectl("top", "nodes").rows()
    assert nodes[0][:2] == ["NAME", "CPU(cores)"]
    assert len(nodes) == len(kubectl("get", "nodes").rows())
    kubectl("delete", "pod", "busy", "--now")


def test_logs_are_followed_to_the_end(kubectl: Shell) -> None:
    kubectl("create", "-f", "-", stdin=pod("counter", "for i in 1 2 3; do echo $i; sleep 0.2; done"))
    kubectl("wait", "--for=jsonpath={.status.phase}=Running", "pod/counter", "--timeout=30s")
    assert kubectl("logs", "-f", "counter").out == "1\n2\n3\n"
    kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/counter", "--timeout=30s")
    assert kubectl("get", "pod", "counter").rows()[1][2] == "Completed"


def test_the_log_of_the_container_before_is_kept(kubectl: Shell) -> None:
    command = "if [ -e /scratch/again ]; then exec sleep 600; fi; touch /scratch/again; echo first life; exit 1"
    volumes = {"volumes": [{"name": "scratch", "emptyDir": {}}], "restartPolicy": "Always"}
    document = json.loads(pod("phoenix", command, **volumes))
    document["spec"]["containers"][0]["volumeMounts"] = [{"name": "scratch", "mountPath": "/scratch"}]
    kubectl("create", "-f", "-", stdin=json.dumps(document))
    restarts = "{.status.containerStatuses[0].restartCount}"
    kubectl("wait", f"--for=jsonpath={restarts}=1", "pod/phoenix", "--timeout=40s")
    assert kubectl("logs", "--previous", "phoenix").out == "first life\n"
    kubectl("delete", "pod", "phoenix", "--now")


def test_get_follows_changes_as_a_table(kubectl: Shell) -> None:
    watching = kubectl.start("get", "pods", "-w", "--output-watch-events", "-l", "app=watched")
    try:
        kubectl("create", "-f", "-", stdin=pod("watched", "exec sleep 600"))
        assert watching.stdout is not None
        assert watching.stdout.readline().split() == ["EVENT", "NAME", "READY", "STATUS", "RESTARTS", "AGE"]
        assert watching.stdout.readline().split()[:2] == ["ADDED", "watched"]
        while "Running" not in watching.stdout.readline():
            pass
    finally:
        watching.send_signal(signal.SIGINT)
        watching.communicate(timeout=10)
    kubectl("delete", "pod", "watched", "--force", "--grace-period=0")


def test_apply_merges_three_ways(kubectl: Shell) -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1", "b": "2"}}
    assert kubectl("apply", "-f", "-", stdin=json.dumps(settings)).out == "configmap/settings created\n"
    assert kubectl("apply", "-f", "-", stdin=json.dumps(settings)).out == "configmap/settings unchanged\n"
    kubectl("patch", "configmap", "settings", "--type=merge", "-p", '{"data": {"mine": "x"}}')
    settings["data"] = {"a": "9"}
    assert kubectl("apply", "-f", "-", stdin=json.dumps(settings)).out == "configmap/settings configured\n"
    assert json.loads(kubectl("get", "cm", "settings", "-o", "jsonpath={.data}").out) == {"a": "9", "mine": "x"}
    changed = kubectl("diff", "-f", "-", stdin=json.dumps({**settings, "data": {"a": "10"}}), fails=True)
    assert changed.code == 1
    assert '+  a: "10"' in changed.out


def test_server_side_apply_guards_fields(kubectl: Shell) -> None:
    shared = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}, "data": {"a": "1"}}
    first = ("apply", "--server-side", "--field-manager=first", "-f", "-")
    second = ("apply", "--server-side", "--field-manager=second", "-f", "-")
    kubectl(*first, stdin=json.dumps(shared))
    shared["data"] = {"a": "2"}
    refused = kubectl(*second, stdin=json.dumps(shared), fails=True)
    assert "conflict" in refused.err
    assert ".data.a" in refused.err
    kubectl(*second, "--force-conflicts", stdin=json.dumps(shared))
    assert kubectl("get", "cm", "shared", "-o", "jsonpath={.data.a}").out == "2"


def test_objects_are_changed_in_place(kubectl: Shell) -> None:
    kubectl("create", "configmap", "plain", "--from-literal=a=1")
    kubectl("label", "configmap", "plain", "tier=gold")
    kubectl("annotate", "configmap", "plain", "note=hello")
    kubectl("patch", "configmap", "plain", "--type=json", "-p", '[{"op": "replace", "path": "/data/a", "value": "2"}]')
    found_again = json.loads(kubectl("get", "configmap", "plain", "-o", "json").out)
    assert found_again["metadata"]["labels"] == {"tier": "gold"}
    assert found_again["metadata"]["annotations"] == {"note": "hello"}
    assert found_again["data"] == {"a": "2"}
    kubectl("label", "configmap", "plain", "tier-")
    assert kubectl("get", "cm", "-l", "tier=gold").out == ""
    kubectl("replace", "-f", "-", stdin=json.dumps({**found_again, "data": {"z": "1"}, "metadata": {"name": "plain"}}))
    assert kubectl("get", "cm", "plain", "-o", "jsonpath={.data}").out == '{"z":"1"}'
    kubectl("create", "secret", "generic", "hidden", "--from-literal=password=x")
    assert kubectl("get", "secret", "hidden").rows()[1][:3] == ["hidden", "Opaque", "1"]


TASK: dict[str, object] = {
    "restartPolicy": "Never",
    "containers": [{"name": "main", "image": "busybox", "args": ["sleep", "600"]}],
}
STORAGE: dict[str, object] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}
APPLIED: dict[str, tuple[dict[str, str], dict[str, object], str]] = {
    "job": ({"apiVersion": "batch/v1", "kind": "Job"}, {"template": {"spec": TASK}}, "{.status.active}=1"),
    "pod": ({"apiVersion": "v1", "kind": "Pod"}, TASK, "{.status.phase}=Running"),
    "pvc": ({"apiVersion": "v1", "kind": "PersistentVolumeClaim"}, STORAGE, ""),
}


@pytest.mark.parametrize("kind", APPLIED)
def test_apply_may_move_to_the_server_and_back(kubectl: Shell, kind: str) -> None:
    head, spec, controlled = APPLIED[kind]

    def manifest(label: str) -> str:
        return json.dumps({**head, "metadata": {"name": "moved", "labels": {"app": label}}, "spec": spec})

    def labelled() -> str:
        return kubectl("get", kind, "moved", "-o", "jsonpath={.metadata.labels.app}").out

    kubectl("apply", "-f", "-", stdin=manifest("first"))
    if controlled:
        kubectl("wait", f"--for=jsonpath={controlled}", f"{kind}/moved", "--timeout=30s")
    for label in ("first", "first", "second", "second"):
        assert "serverside-applied" in kubectl("apply", "--server-side", "-f", "-", stdin=manifest(label)).out
        assert labelled() == label
    assert '"second"' in kubectl("apply", "view-last-applied", kind, "moved", "-o", "json").out
    kubectl("apply", "-f", "-", stdin=manifest("third"))
    assert labelled() == "third"
    assert "serverside-applied" in kubectl("apply", "--server-side", "-f", "-", stdin=manifest("fourth")).out
    kubectl("delete", kind, "moved", "--now", "--timeout=60s")


def test_a_secret_whose_base64_is_wrapped_is_taken(kubectl: Shell) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "wrapped"}, "data": {"a": "aGVs\nbG8=\n"}}
    kubectl("create", "-f", "-", stdin=json.dumps(secret))
    assert kubectl("get", "secret", "wrapped", "-o", "jsonpath={.data.a}").out == "aGVsbG8="
    kubectl("delete", "secret", "wrapped")


def test_dry_runs_change_nothing(kubectl: Shell) -> None:
    told = kubectl("create", "configmap", "never", "--from-literal=a=1", "--dry-run=server")
    assert told.out == "configmap/never created (server dry run)\n"
    kubectl("get", "configmap", "never", fails=True)


def test_a_job_completes_and_takes_its_pods_along(kubectl: Shell) -> None:
    kubectl("create", "job", "quick", "--image=busybox", "--", "sh", "-c", "echo done")
    kubectl("wait", "--for=condition=Complete", "job/quick", "--timeout=30s")
    rows = kubectl("get", "jobs", "quick").rows()
    assert rows[1][:3] == (["quick", "Complete", "1/1"])
    assert kubectl("logs", "job/quick").out == "done\n"
    assert "SuccessfulCreate" in kubectl("describe", "job", "quick").out
    kubectl("delete", "job", "quick", "--cascade=foreground", "--timeout=30s")
    assert kubectl("get", "pods", "-l", "job-name=quick").out == ""


def test_orphans_stay(kubectl: Shell) -> None:
    kubectl("create", "job", "parent", "--image=busybox", "--", "sleep", "600")
    kubectl("wait", "--for=jsonpath={.status.ready}=1", "job/parent", "--timeout=30s")
    kubectl("delete", "job", "parent", "--cascade=orphan", "--timeout=30s")
    assert "Running" in kubectl("get", "pods", "-l", "job-name=parent").out
    kubectl("delete", "pods", "-l", "job-name=parent", "--now", "--timeout=30s")


def test_finalizers_hold_an_object(kubectl: Shell) -> None:
    held = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held", "finalizers": ["example.com/wait"]}}
    kubectl("create", "-f", "-", stdin=json.dumps(held))
    kubectl("delete", "configmap", "held", "--wait=false")
    assert kubectl("get", "cm", "held", "-o", "jsonpath={.metadata.deletionTimestamp}").out
    kubectl("patch", "configmap", "held", "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
    kubectl("wait", "--for=delete", "configmap/held", "--timeout=10s")


def test_nodes_are_tainted_cordoned_and_drained(kubectl: Shell) -> None:
    node = kubectl("get", "nodes", "-o", "name").out.split()[0].partition("/")[2]
    kubectl("taint", "node", node, "example.com/broken=yes:NoSchedule")
    assert "example.com/broken=yes:NoSchedule" in kubectl("describe", "node", node).out
    kubectl("taint", "node", node, "example.com/broken-")
    kubectl("create", "-f", "-", stdin=pod("movable", "exec sleep 600", nodeSelector={"kubernetes.io/hostname": node}))
    kubectl("wait", "--for=condition=Ready", "pod/movable", "--timeout=30s")
    kubectl("create", "pdb", "guard", "--selector=app=movable", "--min-available=1")
    kubectl("wait", "--for=jsonpath={.status.currentHealthy}=1", "pdb/guard", "--timeout=10s")
    drain = ("drain", node, "--force", "--ignore-daemonsets", "--pod-selector=app=movable")
    refused = kubectl(*drain, "--timeout=3s", fails=True)
    assert "disruption budget" in refused.err
    assert "SchedulingDisabled" in kubectl("get", "node", node).out
    kubectl("delete", "pdb", "guard")
    kubectl(*drain, "--timeout=30s")
    assert kubectl("get", "pod", "movable", "--ignore-not-found").out == ""
    kubectl("uncordon", node)
    assert "SchedulingDisabled" not in kubectl("get", "node", node).out


def test_a_pod_without_room_says_why(kubectl: Shell) -> None:
    document = json.loads(pod("giant", "true"))
    document["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 64}}
    deadline = time.monotonic() + 30
    kubectl("create", "-f", "-", stdin=json.dumps(document))
    kubectl("wait", "--for=condition=PodScheduled=false", "pod/giant", "--timeout=20s")
    while "FailedScheduling" not in kubectl("describe", "pod", "giant").out:  # the event comes after the condition
        assert time.monotonic() < deadline
    rows = kubectl("get", "events", "--field-selector", "involvedObject.name=giant").rows()
    assert rows[0] == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert "pod/giant" in rows[1]
    kubectl("delete", "pod", "giant")


def test_mistakes_are_named(kubectl: Shell) -> None:
    wrong = json.loads(pod("wrong", "true"))
    wrong["spec"]["restartPolice"] = "Never"
    assert 'unknown field "spec.restartPolice"' in kubectl("create", "-f", "-", stdin=json.dumps(wrong), fails=True).err
    template = {"containers": [{"name": "main", "image": "x"}], "restartPolicy": "Never"}
    misplaced = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "misplaced"}, "spec": template}
    told = kubectl("create", "-f", "-", stdin=json.dumps(misplaced), fails=True).err
    assert 'unknown field "spec.containers"' in told
    assert "spec.template.spec" in told
    nameless = json.loads(pod("nameless", "true"))
    del nameless["spec"]["containers"][0]["name"]
    told = kubectl("create", "-f", "-", stdin=json.dumps(nameless), fails=True).err
    assert "spec.containers[0].name" in told
    assert kubectl("get", "pods", "wrong", "nameless", "--ignore-not-found").out == ""


def test_a_custom_resource_is_served_like_any_other(kubectl: Shell) -> None:
    group = f"{kubectl.namespace}.example.com"
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "required": ["size"], "properties": {"size": {"type": "integer"}}}},
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
    }
    names = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "shortNames": ["gd"]}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gadgets.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    kubectl("apply", "-f", "-", stdin=json.dumps(definition))
    kubectl("wait", "--for=condition=Established", f"crd/gadgets.{group}", "--timeout=10s")
    gadget = {"apiVersion": f"{group}/v1", "kind": "Gadget", "metadata": {"name": "one"}, "spec": {"size": 3}}
    kubectl("apply", "-f", "-", stdin=json.dumps(gadget))
    assert kubectl("get", f"gadgets.{group}").rows() == [["NAME", "SIZE"], ["one", "3"]]
    told = kubectl("apply", "-f", "-", stdin=json.dumps({**gadget, "spec": {}}), fails=True).err
    assert "spec.size" in told
    told = kubectl("apply", "-f", "-", stdin=json.dumps({**gadget, "spec": {"size": 1, "hue": 2}}), fails=True).err
    assert 'unknown field "spec.hue"' in told
    assert "size" in kubectl("explain", f"gadgets.{group}.spec").out
    kubectl("delete", "crd", f"gadgets.{group}", "--timeout=20s")


def test_the_cluster_describes_itself(kubectl: Shell) -> None:
    assert "pods" in kubectl("api-resources").out
    assert "batch/v1" in kubectl("api-versions").out.split()
    assert kubectl("auth", "can-i", "create", "pods").out == "yes\n"
    assert "restartPolicy" in kubectl("explain", "pod.spec").out
    assert "image" in kubectl("explain", "pod.spec.containers.image").out
    assert "Server Version" in kubectl("version").out
    assert "running at" in kubectl("cluster-info").out


def test_old_priority_classes_are_understood(kubectl: Shell) -> None:
    name = f"critical-{kubectl.namespace}"
    old = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 11}
    kubectl("create", "-f", "-", stdin=json.dumps(old))
    assert kubectl("get", "priorityclass", name).rows()[1][:3] == [name, "11", "false"]
    kubectl("delete", "priorityclass", name)


def test_tokens_and_rights_are_as_kubectl_knows_them(kubectl: Shell) -> None:
    kubectl("create", "serviceaccount", "robot")
    robot = f"--as=system:serviceaccount:{kubectl.namespace}:robot"
    assert kubectl("auth", "can-i", "list", "pods").out == "yes\n"
    assert kubectl("auth", "can-i", "list", "pods", robot, fails=True).out == "no\n"
    assert "is forbidden" in kubectl("get", "pods", robot, fails=True).err
    kubectl("create", "role", "looks", "--verb=get,list", "--resource=pods")
    kubectl("create", "rolebinding", "looks", "--role=looks", f"--serviceaccount={kubectl.namespace}:robot")
    assert kubectl("auth", "can-i", "list", "pods", robot).out == "yes\n"
    listed = [row[0] for row in kubectl("auth", "can-i", "--list", robot).rows()]
    assert "pods" in listed
    assert kubectl("get", "rolebinding", "looks").rows()[1][1] == "Role/looks"
    kubectl("delete", "rolebinding", "looks")
    assert kubectl("auth", "can-i", "list", "pods", robot, fails=True).out == "no\n"


def test_a_token_is_made_and_taken(kubectl: Shell) -> None:
    kubectl("create", "serviceaccount", "clerk")
    token = kubectl("create", "token", "clerk", "--duration=20m").out.strip()
    assert token.count(".") == 2
    refused = kubectl("get", "pods", "--token", token, fails=True).err
    assert f'User "system:serviceaccount:{kubectl.namespace}:clerk" cannot list resource "pods"' in refused
    told = kubectl("auth", "whoami", "--token", token, "-o", "jsonpath={.status.userInfo.username}").out
    assert told == f"system:serviceaccount:{kubectl.namespace}:clerk"
    kubectl("delete", "serviceaccount", "clerk")
    assert "Unauthorized" in kubectl("get", "pods", "--token", token, fails=True).err
