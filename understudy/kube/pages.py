"""How a replica does, page by page: whether it lives, whether it sees, and in figures."""

from collections.abc import Sequence

from understudy.kube.figures import Figure, text_of
from understudy.kube.probes import Pages, Reply
from understudy.kube.replica import Replica

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


def pages_of(replica: Replica, figures: Sequence[Figure], max_view_age: float) -> Pages:
    def healthz() -> Reply:
        """Who answers lives: whatever breaks a part ends the process."""
        return Reply(200, "ok\n")

    def readyz() -> Reply:
        """A standby is ready as soon as it could lead."""
        if not replica.standing.synced:
            return Reply(503, f"not seen yet: {', '.join(replica.standing.unseen) or 'what earlier replicas wrote'}\n")
        if replica.view_age > max_view_age:
            return Reply(503, f"the view is {replica.view_age:.0f} s old\n")
        return Reply(200, "leading\n" if replica.leadership.leads else "standing by\n")

    def metrics() -> Reply:
        return Reply(200, text_of(figures), PROMETHEUS)

    return {"/healthz": healthz, "/readyz": readyz, "/metrics": metrics}
