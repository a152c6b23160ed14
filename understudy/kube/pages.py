"""How a replica does, page by page: whether it lives, whether it sees, and in figures."""

from collections.abc import Sequence

from understudy.kube.figures import Figure, text_of
from understudy.kube.life import LONGEST_TURN, Signs
from understudy.kube.probes import Pages, Reply
from understudy.kube.replica import Replica

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


def pages_of(replica: Replica, figures: Sequence[Figure], max_view_age: float, signs: Signs) -> Pages:
    """They are read in another thread than the one they tell about, so they only look."""

    def healthz() -> Reply:
        """Whatever breaks a part ends the process; what hangs is for its kubelet to end."""
        if not signs.alive:
            return Reply(500, f"the main loop has shown no sign of life for {signs.silence:.0f} s\n")
        if (lasts := replica.standing.turn_lasts) > LONGEST_TURN:
            return Reply(500, f"the scheduling loop has been at one turn for {lasts:.0f} s\n")
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
