"""What a user of `kubernetes_asyncio` does in a day, against the cluster in KUBECONFIG. `ok STEP` a step."""

import asyncio
import sys

from kubernetes_asyncio import client, config, watch
from kubernetes_asyncio.stream import WsApiClient

NAMESPACE = sys.argv[1]
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "greeter", "labels": {"app": "greeter"}},
    "spec": {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", "image": "x", "command": ["sh", "-c", "echo hello; exec sleep 600"]}],
    },
}

LABELS = {"app": "web"}
TEMPLATE = {
    "metadata": {"labels": LABELS},
    "spec": {"containers": [{"name": "main", "image": "x", "command": ["sh", "-c", "exec sleep 600"]}]},
}
WEB = {
    "metadata": {"name": "web"},
    "spec": {"replicas": 1, "selector": {"matchLabels": LABELS}, "template": TEMPLATE},
}
ONCE = {**POD["spec"], "containers": [{"name": "main", "image": "x", "command": ["true"]}]}


def step(name):
    print("ok", name, flush=True)


async def until(core, wanted, **options):
    async with watch.Watch().stream(core.list_namespaced_pod, NAMESPACE, timeout_seconds=30, **options) as events:
        async for event in events:
            if wanted(event):
                return
    sys.exit("what the watch waited for never happened")


async def journey(core):
    await core.create_namespace({"metadata": {"name": NAMESPACE}})
    await core.create_namespaced_pod(NAMESPACE, POD)
    step("create")
    await until(core, lambda event: event["object"].status.phase == "Running")
    step("watch")
    await core.patch_namespaced_pod("greeter", NAMESPACE, {"metadata": {"labels": {"patched": "yes"}}})
    assert len((await core.list_namespaced_pod(NAMESPACE, label_selector="patched=yes")).items) == 1
    step("patch")
    for _ in range(400):
        if "hello" in await core.read_namespaced_pod_log("greeter", NAMESPACE):
            break
        await asyncio.sleep(0.05)
    else:
        sys.exit("the log stayed empty")
    step("logs")


async def execute():
    async with WsApiClient() as wire:
        said = await client.CoreV1Api(wire).connect_get_namespaced_pod_exec(
            "greeter", NAMESPACE, command=["echo", "from inside"], stdout=True, stderr=True, stdin=False, tty=False
        )
    assert "from inside" in said, said
    step("exec")


async def attached():
    """What the container of a pod says while a client is attached, over the WebSocket itself."""
    said = "while [ ! -e said ]; do echo still here; sleep 0.2; done"
    container = {"name": "main", "image": "x", "command": ["sh", "-c", said]}
    async with client.ApiClient() as api:
        body = {"metadata": {"name": "speaker"}, "spec": {**POD["spec"], "containers": [container]}}
        core = client.CoreV1Api(api)
        await core.create_namespaced_pod(NAMESPACE, body)
        speaks = {"field_selector": "metadata.name=speaker"}
        await until(core, lambda event: event["object"].status.phase == "Running", **speaks)
        async with WsApiClient() as wire:
            words = await client.CoreV1Api(wire).connect_get_namespaced_pod_attach(
                "speaker", NAMESPACE, stdout=True, stderr=True, stdin=False, tty=False, _preload_content=False
            )
            async with words as talk:
                async for message in talk:
                    if b"still here" in message.data:
                        break
        await core.delete_namespaced_pod("speaker", NAMESPACE)
    step("attach")


async def workloads(api):
    apps, batch = client.AppsV1Api(api), client.BatchV1Api(api)
    await apps.create_namespaced_deployment(NAMESPACE, WEB)
    await apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 2}})
    assert (await apps.read_namespaced_deployment_scale("web", NAMESPACE)).spec.replicas == 2
    stream = watch.Watch().stream(apps.list_namespaced_deployment, NAMESPACE, timeout_seconds=60)
    async with stream as events:
        async for event in events:
            if event["object"].status.ready_replicas == 2:
                break
        else:
            sys.exit("the deployment was never ready")
    await apps.delete_namespaced_deployment("web", NAMESPACE)
    await batch.create_namespaced_job(NAMESPACE, {"metadata": {"name": "quick"}, "spec": {"template": {"spec": ONCE}}})
    async with watch.Watch().stream(batch.list_namespaced_job, NAMESPACE, timeout_seconds=60) as events:
        async for event in events:
            if event["object"].status.succeeded == 1:
                break
        else:
            sys.exit("the job never completed")
    await batch.delete_namespaced_job("quick", NAMESPACE, propagation_policy="Background")
    step("workloads")


async def applied(core):
    """Server-side apply: fields of another manager are a conflict."""

    async def configured(manager, **data):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data}
        form = {"field_manager": manager, "_content_type": "application/apply-patch+yaml"}
        return (await core.patch_namespaced_config_map("settings", NAMESPACE, body, **form)).data

    assert await configured("first", a="1", b="2") == {"a": "1", "b": "2"}
    assert await configured("first", a="1") == {"a": "1"}
    try:
        await configured("second", a="2")
    except client.ApiException as error:
        assert error.status == 409, error
    else:
        sys.exit("another manager took a field over without force")
    step("apply")


async def resumed(core):
    """A watch goes on where it was when the server ends it, and sees each change once."""
    made = await core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": "counted"}, "data": {"a": "1"}})
    watching, seen = watch.Watch(), []
    choice = {"field_selector": "metadata.name=counted", "resource_version": made.metadata.resource_version}
    for count, value in enumerate(("2", "3"), start=1):
        await core.patch_namespaced_config_map("counted", NAMESPACE, {"data": {"a": value}})
        while len(seen) < count:
            stream = watching.stream(core.list_namespaced_config_map, NAMESPACE, timeout_seconds=1, **choice)
            async with stream as events:
                seen += [(event["type"], event["object"].data["a"]) async for event in events]
            choice["resource_version"] = watching.resource_version
    assert seen == [("MODIFIED", "2"), ("MODIFIED", "3")], seen
    step("resume")


async def removal(core):
    gone = await core.delete_namespaced_pod("greeter", NAMESPACE)
    await until(core, lambda event: event["type"] == "DELETED", resource_version=gone.metadata.resource_version)
    await core.delete_namespace(NAMESPACE)
    step("delete")


async def main():
    await config.load_kube_config()
    async with client.ApiClient() as api:
        core = client.CoreV1Api(api)
        await journey(core)
        await execute()
        await attached()
        await workloads(api)
        await applied(core)
        await resumed(core)
        await removal(core)


asyncio.run(main())
