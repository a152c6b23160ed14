"""What a user of `lightkube` does in a day, against the cluster in KUBECONFIG. `ok STEP` a step."""

import sys
import time

from lightkube import ApiError, Client
from lightkube.models.core_v1 import Container, PodSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap, Namespace, Pod

NAMESPACE = sys.argv[1]


def step(name):
    print("ok", name, flush=True)


def main():
    client = Client(namespace=NAMESPACE, field_manager="lightkube-journey")
    client.create(Namespace(metadata=ObjectMeta(name=NAMESPACE)))
    spec = PodSpec(
        restartPolicy="Never",
        terminationGracePeriodSeconds=1,
        containers=[Container(name="main", image="x", command=["sh", "-c", "echo hello; exec sleep 600"])],
    )
    client.create(Pod(metadata=ObjectMeta(name="greeter", labels={"app": "greeter"}), spec=spec))
    step("create")
    for kind, pod in client.watch(Pod, fields={"metadata.name": "greeter"}, server_timeout=30):
        if kind != "DELETED" and pod.status.phase == "Running":
            break
    else:
        sys.exit("the pod never ran")
    step("watch")
    client.patch(Pod, "greeter", {"metadata": {"labels": {"patched": "yes"}}})
    assert [pod.metadata.name for pod in client.list(Pod, labels={"patched": "yes"})] == ["greeter"]
    settings = ConfigMap(
        apiVersion="v1", kind="ConfigMap", metadata=ObjectMeta(name="settings"), data={"a": "b", "c": "d"}
    )
    assert client.apply(settings).data == {"a": "b", "c": "d"}
    settings.data = {"a": "x"}
    assert client.apply(settings).data == {"a": "x"}
    step("patch")
    try:
        client.apply(
            ConfigMap(apiVersion="v1", kind="ConfigMap", metadata=ObjectMeta(name="settings"), data={"a": "y"}),
            field_manager="another-manager",
        )
    except ApiError as error:
        assert error.status.code == 409, error
        assert "conflict" in error.status.message.lower()
    else:
        sys.exit("another manager took a field over without force")
    step("conflict")
    deadline = time.monotonic() + 20
    while list(client.log("greeter")) != ["hello\n"]:
        assert time.monotonic() < deadline, list(client.log("greeter"))
        time.sleep(0.05)
    assert next(iter(client.log("greeter", follow=True))) == "hello\n"
    step("logs")
    said = client.exec("greeter", command=["echo", "from inside"], stdout=True)
    assert "from inside" in str(said.stdout), said
    step("exec")
    client.delete(Pod, "greeter")
    while True:
        try:
            client.get(Pod, "greeter")
        except ApiError as error:
            assert error.status.code == 404, error
            break
        assert time.monotonic() < deadline + 20
        time.sleep(0.05)
    client.delete(Namespace, NAMESPACE)
    step("delete")


main()
