"""Why gangs wait, said on their pods, or on their jobs where there are no pods to say it on."""

from collections.abc import Iterable

from understudy.control.deeds import Deed
from understudy.control.desk import Desk
from understudy.control.holding import is_seatable
from understudy.control.telling import About
from understudy.decide.explain import summary
from understudy.model.plans import Code, Reason

_PASSING = (Code.SUSPENDED, Code.STILL_LEAVING)  # the job itself says the one, and the other is over in a moment


class Explainer:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._explained: dict[str, tuple[Reason, list[str]]] = {}

    def explain(self, deeds: Iterable[Deed]) -> None:
        """All gangs that wait now. Whoever was told the same before is not told again."""
        explained = {}
        for deed in deeds:
            reason = deed.reason
            if reason is None or reason.code in _PASSING:
                continue
            pods = [pod for pod in self._desk.view.pods_of(deed.key) if is_seatable(pod)]
            told = explained[deed.key] = (reason, [pod.metadata.uid for pod in pods])
            if told != self._explained.get(deed.key):
                job = self._desk.view.job_of(deed.key)
                abouts = [About.of(pod) for pod in pods] or ([About.of(job)] if job is not None else [])
                for about in abouts:
                    self._desk.teller.waits(about, summary(reason), gated=reason.code is Code.GATED)
        self._explained = explained
