"""The conditions of a training job: how a new one changes those that are there."""

from collections.abc import Sequence

import msgspec

from understudy.kinds.children.seen import written
from understudy.kinds.children.wanted import Document

RIVALS = {"Running": "Restarting", "Restarting": "Running"}  # one takes the place of the other


class News(msgspec.Struct, frozen=True):
    """A condition that is to hold, or no longer to hold."""

    type: str
    reason: str
    message: str
    status: str = "True"


def with_news(conditions: Sequence[Document], news: News, now: float) -> list[Document]:
    """The newest stands last: that is the state people are shown. Nothing changes once the job has failed."""
    old = next((one for one in conditions if one["type"] == news.type), None)
    if _is_true(conditions, "Failed") or _says_the_same(old, news):
        return list(conditions)
    moment = written(now)
    since = moment
    if old is not None and old["status"] == news.status:
        since = old.get("lastTransitionTime", moment)
    fresh = {
        "type": news.type,
        "status": news.status,
        "reason": news.reason,
        "message": news.message,
        "lastUpdateTime": moment,
        "lastTransitionTime": since,
    }
    others = [one for one in conditions if one["type"] not in (news.type, RIVALS.get(news.type))]
    if news.type in ("Succeeded", "Failed"):
        others = without_running(others, now)
    return [*others, fresh]


def _says_the_same(old: Document | None, news: News) -> bool:
    return old is not None and (old["status"], old.get("reason")) == (news.status, news.reason)


def _is_true(conditions: Sequence[Document], kind: str) -> bool:
    return any(one["type"] == kind and one["status"] == "True" for one in conditions)


def without_running(conditions: Sequence[Document], now: float) -> list[Document]:
    """What has ended does not run."""
    moment = written(now)
    stopped = {"status": "False", "lastUpdateTime": moment, "lastTransitionTime": moment}
    return [{**one, **stopped} if one["type"] == "Running" and one["status"] == "True" else one for one in conditions]
