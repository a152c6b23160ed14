"""What belongs to something that is gone goes too; its owner may wait for that, or let go of it."""

from typing import Any

import pytest

from tests.embedded.controllers.controller_runner import (
    ControllerParts,
    housekeeping,
    job_kind_controller,
    run_scenario,
    running_controllers,
)
from tests.embedded.controllers.fake_cluster import FakeCluster, quiet
from tests.objects.documents import Document, job, metadata, pod
from understudy.objects.resources import (
    CONFIG_MAPS,
    DEFINITIONS,
    JOBS,
    NAMESPACES,
    NODES,
    PODS,
    Resource,
)
from understudy.ports import Ref

WIDGETS = Resource("example.com", "v1", "widgets", "Widget")


def owned_by(*owners: Document, blocking: bool = True) -> Document:
    return {
        "ownerReferences": [
            {
                "apiVersion": owner["apiVersion"],
                "kind": owner["kind"],
                "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
                "blockOwnerDeletion": blocking,
            }
            for owner in owners
        ]
    }


def config_map(name: str, **meta: Any) -> Document:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(name, **meta)}


def definition() -> Document:
    names = {"plural": "widgets", "kind": "Widget", "singular": "widget"}
    spec = {
        "group": "example.com",
        "names": names,
        "scope": "Namespaced",
        "versions": [{"name": "v1", "storage": True}],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": spec,
    }


async def delete(parts: ControllerParts, resource: Resource, name: str, propagation: str = "Background") -> None:
    await parts.cluster.delete(Ref(resource, "default", name), propagation=propagation)
    await parts.clock.advance(3)


def test_what_belongs_to_a_deleted_object_goes_with_it() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, *housekeeping()) as parts:
            root = api.put(CONFIG_MAPS, config_map("root"))
            child = api.put(CONFIG_MAPS, config_map("child", **owned_by(root)))
            api.put(PODS, pod("grandchild", meta=owned_by(child)))
            api.put(CONFIG_MAPS, config_map("stranger"))
            await delete(parts, CONFIG_MAPS, "root")
            assert (api.names(CONFIG_MAPS), api.names(PODS)) == (["stranger"], [])

    run_scenario(scenario)


def test_orphans_from_before_the_start_are_found() -> None:
    async def scenario(api: FakeCluster) -> None:
        gone = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gone", "uid": "gone"}}
        api.put(PODS, pod("orphan", meta=owned_by(gone)))
        async with running_controllers(api, *housekeeping()):
            await api.clock.advance(3)
            assert api.names(PODS) == []

    run_scenario(scenario)


def test_an_owner_of_the_same_name_is_another_owner() -> None:
    async def scenario(api: FakeCluster) -> None:
        old = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "root", "uid": "the-old-one"}}
        api.put(CONFIG_MAPS, config_map("root"))
        api.put(PODS, pod("child", meta=owned_by(old)))
        async with running_controllers(api, *housekeeping()):
            await api.clock.advance(3)
            assert api.names(PODS) == []

    run_scenario(scenario)


def test_who_has_another_owner_stays_and_forgets_the_lost_one() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, *housekeeping()) as parts:
            one, other = (api.put(CONFIG_MAPS, config_map(name)) for name in ("one", "other"))
            api.put(PODS, pod("child", meta=owned_by(one, other)))
            await delete(parts, CONFIG_MAPS, "one")
            (owner,) = api.read(PODS, "child")["metadata"]["ownerReferences"]
            assert owner["name"] == "other"

    run_scenario(scenario)


def test_an_owner_of_an_unknown_kind_is_not_taken_for_gone() -> None:
    async def scenario(api: FakeCluster) -> None:
        unknown = {"apiVersion": "example.com/v1", "kind": "Mystery", "metadata": {"name": "x", "uid": "x"}}
        api.put(PODS, pod("child", meta=owned_by(unknown)))
        async with running_controllers(api, *housekeeping()):
            await api.clock.advance(5)
            assert api.names(PODS) == ["child"]

    run_scenario(scenario)


def test_an_owner_in_no_namespace_counts() -> None:
    async def scenario(api: FakeCluster) -> None:
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}
        async with running_controllers(api, *housekeeping()) as parts:
            api.put(PODS, pod("child", meta=owned_by(api.put(NODES, node))))
            await api.clock.advance(3)
            assert api.names(PODS) == ["child"]
            await parts.cluster.delete(Ref(NODES, name="a"))
            await api.clock.advance(3)
            assert api.names(PODS) == []

    run_scenario(scenario)


def test_foreground_the_owner_waits_for_those_who_block_it() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, *housekeeping()) as parts:
            root = api.put(CONFIG_MAPS, config_map("root"))
            api.put(PODS, pod("slow", meta={**owned_by(root), "finalizers": ["example.com/slow"]}))
            api.put(PODS, pod("free", meta={**owned_by(root, blocking=False), "finalizers": ["example.com/slow"]}))
            await delete(parts, CONFIG_MAPS, "root", "Foreground")
            assert api.names(CONFIG_MAPS) == ["root"]
            assert all("deletionTimestamp" in api.read(PODS, name)["metadata"] for name in ("slow", "free"))
            api.change(PODS, "slow", {"metadata": {"finalizers": []}})
            await api.clock.advance(1)
            assert (api.names(CONFIG_MAPS), api.names(PODS)) == ([], ["free"])

    run_scenario(scenario)


def test_foreground_reaches_down_to_the_last_generation() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, *housekeeping()) as parts:
            root = api.put(CONFIG_MAPS, config_map("root"))
            child = api.put(CONFIG_MAPS, config_map("child", **owned_by(root)))
            api.put(PODS, pod("grandchild", meta={**owned_by(child), "finalizers": ["example.com/slow"]}))
            await delete(parts, CONFIG_MAPS, "root", "Foreground")
            assert sorted(api.names(CONFIG_MAPS)) == ["child", "root"]
            api.change(PODS, "grandchild", {"metadata": {"finalizers": []}})
            await api.clock.advance(1)
            assert api.names(CONFIG_MAPS) == []

    run_scenario(scenario)


def test_a_circle_of_owners_can_be_deleted() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, *housekeeping()) as parts:
            one = api.put(CONFIG_MAPS, config_map("one"))
            other = api.put(CONFIG_MAPS, config_map("other", **owned_by(one)))
            api.change(CONFIG_MAPS, "one", {"metadata": owned_by(other)})
            await delete(parts, CONFIG_MAPS, "one", "Foreground")
            assert api.names(CONFIG_MAPS) == []

    run_scenario(scenario)


def test_orphaned_children_stay_and_forget_their_owner() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, *housekeeping()) as parts:
            root = api.put(CONFIG_MAPS, config_map("root"))
            api.put(PODS, pod("child", meta=owned_by(root)))
            await delete(parts, CONFIG_MAPS, "root", "Orphan")
            assert (api.names(CONFIG_MAPS), api.names(PODS)) == ([], ["child"])
            assert api.read(PODS, "child")["metadata"]["ownerReferences"] == []

    run_scenario(scenario)


def test_objects_of_a_users_own_kind_are_owners_and_owned() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, *housekeeping()) as parts:
            api.put(DEFINITIONS, definition())
            await quiet()
            root = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata("root")}
            root = api.put(WIDGETS, root)
            child = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata("child", **owned_by(root))}
            api.put(PODS, pod("grandchild", meta=owned_by(api.put(WIDGETS, child))))
            await delete(parts, WIDGETS, "root")
            assert (api.names(WIDGETS), api.names(PODS)) == ([], [])

    run_scenario(scenario)


def test_a_watch_that_breaks_is_no_reason_to_delete_anything() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, *housekeeping()):
            root = api.put(CONFIG_MAPS, config_map("root"))
            api.put(PODS, pod("child", meta=owned_by(root)))
            await quiet()
            api.break_watches(CONFIG_MAPS)
            await api.clock.advance(5)
            assert api.names(PODS) == ["child"]
            api.remove(CONFIG_MAPS, "root")
            await api.clock.advance(5)
            assert api.names(PODS) == []

    run_scenario(scenario)


def namespace(name: str) -> Document:
    meta = {"name": name}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta, "spec": {"finalizers": ["kubernetes"]}}


@pytest.mark.parametrize("job_is_there", [True, False], ids=["with a Job", "empty"])
def test_a_deleted_namespace_is_emptied_and_goes(job_is_there: bool) -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, *housekeeping(), job_kind_controller("Job")) as parts:
            api.put(NAMESPACES, namespace("team"))
            api.put(CONFIG_MAPS, config_map("theirs", namespace="other"))
            if job_is_there:
                api.put(JOBS, job("train", meta={"namespace": "team"}, parallelism=2, completions=2))
                api.put(CONFIG_MAPS, config_map("settings", namespace="team"))
            await api.clock.advance(1)
            assert len(api.names(PODS, "team")) == 2 * job_is_there
            await parts.cluster.delete(Ref(NAMESPACES, name="team"))
            await api.clock.advance(5)
            assert [place for place in api.objects if "team" in place] == []
            assert api.names(CONFIG_MAPS) == ["theirs"]

    run_scenario(scenario)


def test_a_namespace_waits_for_what_does_not_want_to_go() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, *housekeeping()) as parts:
            api.put(NAMESPACES, namespace("team"))
            api.put(CONFIG_MAPS, config_map("held", namespace="team", finalizers=["example.com/hold"]))
            await quiet()
            await parts.cluster.delete(Ref(NAMESPACES, name="team"))
            await api.clock.advance(30)
            assert api.names(NAMESPACES) == ["team"]
            api.change(CONFIG_MAPS, "held", {"metadata": {"finalizers": []}}, "team")
            await api.clock.advance(3)
            assert api.names(NAMESPACES) == []

    run_scenario(scenario)
