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
        await removal(core)


asyncio.run(main())
