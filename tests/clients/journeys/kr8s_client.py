"""What a user of `kr8s` does in a day, against the cluster in KUBECONFIG. `ok STEP` a step."""

import sys
import time

import kr8s
from kr8s.objects import Namespace, Pod

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


def step(name):
    print("ok", name, flush=True)


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
    pod.delete()
    pod.wait("delete", timeout=30)
    space.delete()
    step("delete")


main()
