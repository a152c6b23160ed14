"""The kinds and objects this package brings are made where they are missing."""

import asyncio

import pytest
import yaml

from tests.embedded.controllers.controller_runner import run_scenario
from tests.embedded.controllers.fake_cluster import FakeCluster
from understudy.embedded.controllers.bundle_installer import DIGEST, install_definitions, install_objects
from understudy.embedded.manifests.definitions import bundled_definitions
from understudy.embedded.manifests.objects import bundled_objects
from understudy.objects.resources import CLUSTER_TRAINING_RUNTIMES, CONFIG_MAPS, DEFINITIONS, JOB_SETS
from understudy.ports import Refused


def test_every_file_defines_what_it_is_named_for() -> None:
    for name, text in bundled_definitions().items():
        document = yaml.safe_load(text)
        assert document["metadata"]["name"] == name
        assert name == f"{document['spec']['names']['plural']}.{document['spec']['group']}"


def test_missing_kinds_are_defined_and_others_left_alone() -> None:
    async def scenario(api: FakeCluster) -> None:
        await install_definitions(api, api.clock)
        assert sorted(api.names(DEFINITIONS)) == sorted(bundled_definitions())
        before = len(api.requests)
        await install_definitions(api, api.clock)
        assert len(api.requests) == before

    run_scenario(scenario)


@pytest.mark.parametrize("ours", [True, False], ids=["ours", "another client's"])
def test_an_older_edition_of_ours_is_brought_up_to_date(ours: bool) -> None:
    async def scenario(api: FakeCluster) -> None:
        meta = {"name": JOB_SETS.key, "annotations": {DIGEST: "older"} if ours else {}}
        api.put(DEFINITIONS, {"metadata": meta, "spec": {"group": "older"}})
        await install_definitions(api, api.clock)
        group = api.read(DEFINITIONS, JOB_SETS.key)["spec"]["group"]
        assert group == (JOB_SETS.group if ours else "older")

    run_scenario(scenario)


def test_a_cluster_that_does_not_answer_yet_is_waited_for() -> None:
    async def scenario(api: FakeCluster) -> None:
        api.fault = lambda *_: "before"
        defining = asyncio.create_task(install_definitions(api, api.clock))
        await api.clock.advance(5)
        assert not defining.done()
        api.fault = lambda *_: ""
        await api.clock.advance(5)
        await defining
        assert api.names(DEFINITIONS)

    run_scenario(scenario)


def test_a_cluster_in_trouble_is_asked_again() -> None:
    """A disk that is full when the controllers start has room later."""

    async def scenario(api: FakeCluster) -> None:
        creating = api.create

        async def full(*_: object, **__: object) -> bytes:
            raise Refused(507, "InsufficientStorage", "the disk of the cluster is full")

        api.create = full  # type: ignore[method-assign]
        defining = asyncio.create_task(install_definitions(api, api.clock))
        await api.clock.advance(5)
        assert not defining.done()
        api.create = creating  # type: ignore[method-assign]
        await api.clock.advance(5)
        await defining
        assert api.names(DEFINITIONS)

    run_scenario(scenario)


def test_objects_are_made_where_they_belong_and_others_left_alone() -> None:
    async def scenario(api: FakeCluster) -> None:
        mine = {"metadata": {"name": "plain"}, "spec": {"mine": True}}
        api.put(CLUSTER_TRAINING_RUNTIMES, mine)
        await install_objects(api, api.clock)
        for ref, document in bundled_objects():
            if ref.name != "plain":
                made = api.read(ref.resource, ref.name, ref.namespace)
                assert made["metadata"]["annotations"][DIGEST]
                assert all(made[field] == document[field] for field in document if field != "metadata")
        assert api.read(CLUSTER_TRAINING_RUNTIMES, "plain")["spec"] == {"mine": True}
        before = len(api.requests)
        await install_objects(api, api.clock)
        assert len(api.requests) == before

    run_scenario(scenario)


def test_an_older_edition_of_an_object_is_brought_up_to_date() -> None:
    async def scenario(api: FakeCluster) -> None:
        meta = {"name": "kubeflow-trainer-public", "namespace": "kubeflow-system", "annotations": {DIGEST: "older"}}
        api.put(CONFIG_MAPS, {"metadata": meta, "data": {"kubeflow_trainer_version": "v1"}})
        await install_objects(api, api.clock)
        found = api.read(CONFIG_MAPS, "kubeflow-trainer-public", "kubeflow-system")
        assert found["data"] == {"kubeflow_trainer_version": "v2.3.0"}

    run_scenario(scenario)
