"""What a user of the `kubernetes` client does in a day, against the cluster in KUBECONFIG. `ok STEP` a step."""

import sys
import time

from kubernetes import client, config, dynamic, stream, watch

NAMESPACE = sys.argv[1]
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "greeter", "labels": {"app": "greeter"}},
    "spec": {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "containers": [
            {
                "name": "main",
                "image": "python:3.11",
                "command": ["sh", "-c", "echo hello; echo again; exec sleep 600"],
                "resources": {"limits": {"cpu": "100m", "memory": "64Mi"}},
            }
        ],
    },
}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"gadgets.{NAMESPACE}.example.com"},
    "spec": {
        "group": f"{NAMESPACE}.example.com",
        "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
                    }
                },
            }
        ],
    },
}


INSIDE = """
from kubernetes import client, config
config.load_incluster_config()
core = client.CoreV1Api()
me = client.AuthenticationV1Api().create_self_subject_review({}).status.user_info
print(me.username, core.read_namespaced_pod("insider", NAMESPACE).metadata.name, flush=True)
try:
    core.list_namespaced_secret(NAMESPACE)
except client.ApiException as error:
    print(error.status, flush=True)
"""


def step(name):
    print("ok", name, flush=True)


def pods(core):
    core.create_namespaced_pod(NAMESPACE, POD)
    step("create")
    for event in watch.Watch().stream(core.list_namespaced_pod, NAMESPACE, timeout_seconds=30):
        if event["object"].metadata.name == "greeter" and event["object"].status.phase == "Running":
            break
    else:
        sys.exit("the pod never ran")
    step("watch")
    core.patch_namespaced_pod("greeter", NAMESPACE, {"metadata": {"labels": {"patched": "yes"}}})
    found = core.list_namespaced_pod(NAMESPACE, label_selector="patched in (yes, no),app=greeter")
    assert [pod.metadata.name for pod in found.items] == ["greeter"], found
    assert found.items[0].spec.containers[0].resources.limits["cpu"] == "100m"
    step("patch")
    found = core.list_namespaced_pod(NAMESPACE, field_selector="status.phase=Running,metadata.name=greeter")
    assert len(found.items) == 1
    step("select")


def logs(core):
    deadline = time.monotonic() + 20
    while "again" not in (text := core.read_namespaced_pod_log("greeter", NAMESPACE)):
        assert time.monotonic() < deadline, text
        time.sleep(0.05)
    assert core.read_namespaced_pod_log("greeter", NAMESPACE, tail_lines=1).strip() == "again"
    lines = watch.Watch().stream(core.read_namespaced_pod_log, "greeter", NAMESPACE, follow=True)
    assert next(iter(lines)) == "hello"
    step("logs")


def execute(core):
    said = stream.stream(
        core.connect_get_namespaced_pod_exec,
        "greeter",
        NAMESPACE,
        command=["sh", "-c", "echo from inside; echo problem >&2"],
        stdout=True,
        stderr=True,
        stdin=False,
        tty=False,
    )
    assert "from inside" in said, said
    assert "problem" in said, said
    talk = stream.stream(
        core.connect_get_namespaced_pod_exec,
        "greeter",
        NAMESPACE,
        command=["sh", "-c", "read line; echo you said $line; exit 3"],
        stdout=True,
        stderr=True,
        stdin=True,
        tty=False,
        _preload_content=False,
    )
    talk.write_stdin("something\n")
    talk.run_forever(timeout=20)
    assert "you said something" in talk.read_stdout()
    assert talk.returncode == 3, talk.returncode
    step("exec")


def forward(core):
    """The library has one WebSocket for each connection."""
    serves = (
        "import os, socket\n"
        "door = socket.create_server((os.environ['ADDRESS'], 8000))\n"
        "while True:\n"
        "    talk, _ = door.accept()\n"
        "    talk.sendall(b'you said ' + talk.recv(100))\n"
        "    talk.close()\n"
    )
    container = {
        "name": "main",
        "image": "x",
        "command": [sys.executable, "-c", serves],
        "env": [{"name": "ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "readinessProbe": {"tcpSocket": {"port": 8000}, "periodSeconds": 1},
    }
    body = {"metadata": {"name": "door"}, "spec": {"containers": [container], "terminationGracePeriodSeconds": 1}}
    core.create_namespaced_pod(NAMESPACE, body)
    deadline = time.monotonic() + 60
    while "True" not in [
        one.status for one in core.read_namespaced_pod("door", NAMESPACE).status.conditions or () if one.type == "Ready"
    ]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    forwarded = stream.portforward(core.connect_get_namespaced_pod_portforward, "door", NAMESPACE, ports="8000")
    talk = forwarded.socket(8000)
    talk.setblocking(True)
    talk.sendall(b"hello")
    assert talk.recv(100) == b"you said hello"
    assert forwarded.error(8000) is None
    talk.close()
    core.delete_namespaced_pod("door", NAMESPACE)
    step("port-forward")


def inside(core):
    """A pod with the library, and nothing but what the cluster gives it."""
    program = f"NAMESPACE = {NAMESPACE!r}{INSIDE}"
    container = {"name": "main", "image": "x", "command": [sys.executable, "-W", "ignore", "-c", program]}
    spec = {"restartPolicy": "Never", "containers": [container]}
    core.create_namespaced_pod(NAMESPACE, {"metadata": {"name": "insider"}, "spec": spec})
    for event in watch.Watch().stream(core.list_namespaced_pod, NAMESPACE, timeout_seconds=60):
        pod = event["object"]
        if pod.metadata.name == "insider" and pod.status.phase in ("Succeeded", "Failed"):
            break
    said = core.read_namespaced_pod_log("insider", NAMESPACE)
    assert said.split() == [f"system:serviceaccount:{NAMESPACE}:default", "insider", "403"], said
    core.delete_namespaced_pod("insider", NAMESPACE)
    step("inside")


def jobs(batch):
    spec = {
        "template": {
            "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x", "command": ["true"]}]}
        }
    }
    batch.create_namespaced_job(NAMESPACE, {"metadata": {"name": "quick"}, "spec": spec})
    for event in watch.Watch().stream(batch.list_namespaced_job, NAMESPACE, timeout_seconds=30):
        if event["object"].status.succeeded == 1 and event["object"].status.completion_time:
            break
    else:
        sys.exit("the job never completed")
    batch.delete_namespaced_job("quick", NAMESPACE, propagation_policy="Background")
    step("job")


def custom(api):
    group = f"{NAMESPACE}.example.com"
    client.ApiextensionsV1Api(api).create_custom_resource_definition(DEFINITION)
    objects = client.CustomObjectsApi(api)
    body = {"apiVersion": f"{group}/v1", "kind": "Gadget", "metadata": {"name": "one"}, "spec": {"size": 3}}
    objects.create_namespaced_custom_object(group, "v1", NAMESPACE, "gadgets", body)
    patch = {"spec": {"size": 4}}
    objects.patch_namespaced_custom_object(group, "v1", NAMESPACE, "gadgets", "one", patch)
    assert objects.get_namespaced_custom_object(group, "v1", NAMESPACE, "gadgets", "one")["spec"]["size"] == 4
    wrong = {**body, "metadata": {"name": "two"}, "spec": {"size": "large"}}
    try:
        objects.create_namespaced_custom_object(group, "v1", NAMESPACE, "gadgets", wrong)
    except client.ApiException as error:
        assert error.status == 422, error
    else:
        sys.exit("an object its schema forbids was taken")
    client.ApiextensionsV1Api(api).delete_custom_resource_definition(DEFINITION["metadata"]["name"])
    step("custom")


def discovered(api):
    served = dynamic.DynamicClient(api).resources.get(api_version="v1", kind="ConfigMap")
    served.create(namespace=NAMESPACE, body={"metadata": {"name": "settings"}, "data": {"a": "b"}})
    assert served.get(namespace=NAMESPACE, name="settings").data.a == "b"
    step("discover")


def errors(core):
    try:
        core.read_namespaced_pod("absent", NAMESPACE)
    except client.ApiException as error:
        assert error.status == 404
        assert "not found" in error.body
    try:
        core.create_namespaced_pod(NAMESPACE, POD)
    except client.ApiException as error:
        assert error.status == 409
        assert "AlreadyExists" in error.body
    step("errors")


def removal(core):
    core.list_node()
    core.list_event_for_all_namespaces()
    gone = core.delete_namespaced_pod("greeter", NAMESPACE)
    assert gone.metadata.deletion_timestamp is not None
    version = gone.metadata.resource_version
    for event in watch.Watch().stream(
        core.list_namespaced_pod, NAMESPACE, resource_version=version, timeout_seconds=30
    ):
        if event["type"] == "DELETED":
            break
    else:
        sys.exit("the pod was never removed")
    core.delete_namespace(NAMESPACE)
    step("delete")


def main():
    config.load_kube_config()
    api = client.ApiClient()
    core = client.CoreV1Api(api)
    core.create_namespace({"metadata": {"name": NAMESPACE}})
    pods(core)
    logs(core)
    execute(core)
    forward(core)
    inside(core)
    jobs(client.BatchV1Api(api))
    custom(api)
    discovered(api)
    errors(core)
    removal(core)


main()
