"""One look at a cluster as its scheduler sees it: objects into a snapshot, and the policy that plans are made by."""

from typing import TYPE_CHECKING

import msgspec

from understudy.cli.elsewhere import scheduler_of
from understudy.cli.settings import Settings, read
from understudy.cli.survey import Surveyor
from understudy.control.following import SOURCES
from understudy.control.troubles import Troubles
from understudy.control.view import View
from understudy.decide.policy import Policy
from understudy.model.snapshot import Snapshot
from understudy.objects import resources as known

if TYPE_CHECKING:
    from understudy.client import KubeClient

# What decides where a pod may go, and not where it is.
_LEFT_OUT = (known.VOLUMES, known.CLAIMS, known.BUDGETS)


class Glance(msgspec.Struct, frozen=True):
    snapshot: Snapshot
    policy: Policy
    now: float


async def glance(client: "KubeClient", settings: str | None) -> Glance:
    """`settings` names a file to go by; without one, it is what the cluster's scheduler goes by."""
    chosen = settings_of(client, settings)
    sources = [source for source in SOURCES if source.versions[0] not in _LEFT_OUT]
    survey = await Surveyor(client).survey(sources)
    view = View(chosen.policy.index, scheduler_of(client) or None, chosen.health, Troubles())
    for obj in survey.objects:
        view.put(obj)
    return Glance(view.snapshot(survey.now), chosen.policy, survey.now)


def settings_of(client: "KubeClient", path: str | None) -> Settings:
    """Those of an embedded cluster of this machine are known; of any other, what a file or the environment says."""
    from understudy.cli.clusters import at_server
    from understudy.embedded.looping import looped

    cluster = at_server(client.config) if path is None else None
    if cluster is None:
        return read(path)
    loop = looped(cluster.settings.loop)
    return Settings(policy=loop.policy, health=loop.limits)


def settings_source(client: "KubeClient", path: str | None) -> str:
    """Where those settings are from, in words."""
    from understudy.cli.clusters import at_server
    from understudy.cli.settings import given

    if path is None and (cluster := at_server(client.config)) is not None:
        return f"those of the embedded cluster {cluster.settings.name}"
    if path is not None:
        return path
    return "the defaults; --settings names others" if given(path) is None else "those of the environment"
