"""What a user of `kr8s` does in a day, against the cluster in KUBECONFIG. `ok STEP` a step."""

import socket
import sys
import time

import kr8s
from kr8s.objects import ConfigMap, Deployment, Job, Namespace, Pod

NAMESPACE = sys.argv[1]
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "greeter", "namespace": NAMESPACE, "labels": {"app": "greeter"}},
    "spec": {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", "image": "x", "command": ["sh", "-c", "echo hello; exec sleep 600"]}],
    },
}

SERVES = """
import os, socket
door = socket.create_server((os.environ["ADDRESS"], 8000))
while True:
    talk, _ = door.accept()
    talk.sendall(b"you said " + talk.recv(100))
    talk.close()
"""
TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "main", "image": "x", "command": ["sh", "-c", "exec sleep 600"]}]},
}
WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": NAMESPACE},
    "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE},
}


def step(name):
    print("ok", name, flush=True)


def until(look):
    deadline = time.monotonic() + 60
    while not (found := look()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def forward():
    container = {
        "name": "main",
        "image": "x",
        "command": [sys.executable, "-c", SERVES],
        "env": [{"name": "ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "readinessProbe": {"tcpSocket": {"port": 8000}, "periodSeconds": 1},
    }
    spec = {"terminationGracePeriodSeconds": 1, "containers": [container]}
    door = Pod({"metadata": {"name": "door", "namespace": NAMESPACE}, "spec": spec})
    door.create()
    door.wait("condition=Ready", timeout=60)
    with door.portforward(8000) as local, socket.create_connection(("127.0.0.1", local), timeout=20) as talk:
        talk.sendall(b"hello")
        assert talk.recv(100) == b"you said hello"
    door.delete()
    step("port-forward")


def workloads():
    web = Deployment(WEB)
    web.create()
    web.wait("condition=Available", timeout=60)
    web.scale(3)
    until(web.ready)
    assert len(web.pods()) == 3
    web.delete()
    spec = {**POD["spec"], "containers": [{"name": "main", "image": "x", "command": ["true"]}]}
    job = Job({"metadata": {"name": "quick", "namespace": NAMESPACE}, "spec": {"template": {"spec": spec}}})
    job.create()
    job.wait("condition=Complete", timeout=60)
    job.delete(propagation_policy="Foreground")
    until(lambda: not job.exists())
    step("workloads")


def resumed():
    """Changes that were made while nothing watched are seen by a watch that begins where the list was."""
    settings = ConfigMap({"metadata": {"name": "settings", "namespace": NAMESPACE}, "data": {"a": "1"}})
    settings.create()
    since = settings.metadata.resourceVersion
    settings.patch({"data": {"a": "2"}})
    settings.patch([{"op": "replace", "path": "/data/a", "value": "3"}], type="json")
    seen = []
    for kind, one in kr8s.watch("configmaps", namespace=NAMESPACE, since=since):
        seen.append((kind, one.data.a))
        if len(seen) == 2:
            break
    assert seen == [("MODIFIED", "2"), ("MODIFIED", "3")], seen
    step("resume")


def main():
    space = Namespace({"metadata": {"name": NAMESPACE}})
    space.create()
    pod = Pod(POD)
    pod.create()
    step("create")
    pod.wait("condition=Ready", timeout=30)
    assert any(one.name == "greeter" for one in kr8s.get("pods", namespace=NAMESPACE))
    for _kind, seen in kr8s.watch("pods", namespace=NAMESPACE):
        assert seen.name == "greeter"
        break
    step("watch")
    pod.label(patched="yes")
    found = list(kr8s.get("pods", namespace=NAMESPACE, label_selector={"patched": "yes"}))
    assert [one.name for one in found] == ["greeter"], found
    step("patch")
    deadline = time.monotonic() + 20
    while "hello" not in list(pod.logs()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    step("logs")
    said = pod.exec(["echo", "from inside"])
    assert b"from inside" in said.stdout, said
    step("exec")
    forward()
    workloads()
    resumed()
    pod.delete()
    pod.wait("delete", timeout=30)
    space.delete()
    step("delete")


main()
