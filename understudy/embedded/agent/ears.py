"""What probes find, into what is known of their container: ready, started, or to be stopped and begun anew."""

from typing import TYPE_CHECKING

import msgspec

from understudy.embedded.agent.pods import Container
from understudy.embedded.agent.probing import Finding
from understudy.embedded.agent.sights import UNSEEN, Stop

if TYPE_CHECKING:
    from understudy.embedded.agent.crew import Crew


class Ear(msgspec.Struct, frozen=True):
    """Hears of one container. What is said while its node does not answer means nothing."""

    crew: "Crew"
    container: Container

    def found(self, kind: str, finding: Finding) -> None:
        name, passed = self.container.name, finding is Finding.PASSED
        if self.crew.is_hushed or not self.crew.sights.get(name, UNSEEN).is_running:
            return
        match kind:
            case "Readiness":
                self.crew.note(name, ready=passed)
            case "Startup" if passed:
                self.crew.note(name, started=True, ready=self.container.readiness_probe is None)
            case _ if not passed:
                self._condemn(kind)

    def failed(self, kind: str, message: str) -> None:
        if not self.crew.is_hushed:
            self.crew.voice.warning("Unhealthy", f"{kind} probe failed: {message}", self.container.name)

    def _condemn(self, kind: str) -> None:
        container, crew = self.container, self.crew
        probe = container.startup_probe if kind == "Startup" else container.liveness_probe
        asked = probe.termination_grace_period_seconds if probe else None
        if crew.sights[container.name].stop is None:
            message = f"Container {container.name} failed {kind.lower()} probe, will be restarted"
            crew.voice.normal("Killing", message, container.name)
            grace = float(crew.pod.grace if asked is None else asked)
            crew.note(container.name, stop=Stop(crew.now(), grace))
