"""What a user of `lightkube` does in a day, against the cluster in KUBECONFIG. `ok STEP` a step."""

import sys
import time

from lightkube import ApiError, Client
from lightkube.models.apps_v1 import DeploymentSpec
from lightkube.models.autoscaling_v1 import ScaleSpec
from lightkube.models.batch_v1 import JobSpec
from lightkube.models.core_v1 import Container, PodSpec, PodTemplateSpec
from lightkube.models.meta_v1 import LabelSelector, ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import ConfigMap, Namespace, Pod

NAMESPACE = sys.argv[1]


def step(name):
    print("ok", name, flush=True)


def sleeps(**more):
    container = Container(name="main", image="x", command=["sh", "-c", "exec sleep 600"])
    return PodSpec(terminationGracePeriodSeconds=1, containers=[container], **more)


def until(look):
    deadline = time.monotonic() + 60
    while not (found := look()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def workloads(client):
    labels = {"app": "web"}
    template = PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=sleeps())
    spec = DeploymentSpec(replicas=1, selector=LabelSelector(matchLabels=labels), template=template)
    client.create(Deployment(metadata=ObjectMeta(name="web"), spec=spec))
    client.wait(Deployment, "web", for_conditions=["Available"])
    scaled = Deployment.Scale(metadata=ObjectMeta(name="web", namespace=NAMESPACE), spec=ScaleSpec(replicas=3))
    client.replace(scaled)
    assert client.get(Deployment.Scale, "web").spec.replicas == 3
    until(lambda: client.get(Deployment, "web").status.readyReplicas == 3)
    client.delete(Deployment, "web")
    once = PodSpec(restartPolicy="Never", containers=[Container(name="main", image="x", command=["true"])])
    client.create(Job(metadata=ObjectMeta(name="quick"), spec=JobSpec(template=PodTemplateSpec(spec=once))))
    client.wait(Job, "quick", for_conditions=["Complete"])
    client.delete(Job, "quick")
    step("workloads")


def resumed(client):
    """Changes that were made while nothing watched are seen by a watch that begins where the object was."""
    made = client.create(ConfigMap(metadata=ObjectMeta(name="counted"), data={"a": "1"}))
    for value in ("2", "3"):
        client.patch(ConfigMap, "counted", {"data": {"a": value}})
    seen = []
    fields, since = {"metadata.name": "counted"}, made.metadata.resourceVersion
    for kind, one in client.watch(ConfigMap, fields=fields, resource_version=since, server_timeout=1):
        seen.append((kind, one.data["a"]))
        if len(seen) == 2:  # after the server has ended a watch, the next change comes through another one
            client.patch(ConfigMap, "counted", {"data": {"a": "4"}})
        if len(seen) == 3:
            break
    assert seen == [("MODIFIED", "2"), ("MODIFIED", "3"), ("MODIFIED", "4")], seen
    step("resume")


def talk(client):
    said = client.exec(
        "greeter", command=["sh", "-c", "read line; echo you said $line; exit 3"], stdin="hi\n", stdout=True
    )
    assert (said.stdout, said.exit_code) == ("you said hi\n", 3), said
    step("talk")


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
    talk(client)
    workloads(client)
    resumed(client)
    client.delete(Pod, "greeter")
    deadline = time.monotonic() + 20
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
