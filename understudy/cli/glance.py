"""One look at a cluster as its scheduler sees it: objects into a snapshot, and the policy that plans are made by."""

from typing import TYPE_CHECKING

import msgspec

from understudy.cli.elsewhere import scheduler_of
from understudy.cli.in_force import in_force
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
    chosen = (await in_force(client, settings)).settings
    sources = [source for source in SOURCES if source.versions[0] not in _LEFT_OUT]
    survey = await Surveyor(client).survey(sources)
    view = View(chosen.policy.index, scheduler_of(client) or None, chosen.health, Troubles())
    for obj in survey.objects:
        view.put(obj)
    return Glance(view.snapshot(survey.now), chosen.policy, survey.now)
