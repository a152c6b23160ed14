"""One job of the scenario as the simulated API has it: its pods, its seats, and when it was whole last."""

from understudy.simulate.api_server import Version
from understudy.simulate.scenario import JobPlan
from understudy.simulate.workloads import key_of, minimum_of, slots_of


class GangState:
    """One job of the scenario as the API has it."""

    def __init__(self, plan: JobPlan) -> None:
        self.plan = plan
        self.key = key_of(plan)
        self.slots = {slot.name: slot for slot in slots_of(plan)}
        self.needed = minimum_of(plan, len(self.slots))
        self.elastic = self.needed < len(self.slots)
        # The launcher of an MPIJob may be held back until its workers run again: then it belongs to a later stage.
        launcher = f"{plan.name}-launcher" if plan.kind == "MPIJob" else ""
        self.first = {name for name, slot in self.slots.items() if slot.stage == 0 and name != launcher}
        self.there = False  # submitted, and not deleted
        self.suspended = False  # by its user
        self.pods: dict[str, tuple[str, Version]] = {}  # uid -> slot, version
        self.holds: dict[str, str] = {}
        self.done: set[str] = set()  # slots whose processes have succeeded
        self.bound_at: dict[str, float] = {}  # uid -> when it got its seat
        self.whole_at = float("-inf")  # when all members had seats, or seats held for them
        self.struck_at = float("-inf")  # when it was whole, and lost a pod by no scheduler's doing
        self.made_at = float("-inf")  # when all pods of its first stage existed, and one was lost
        self.begun = False  # whether all pods of its first stage had seats since it last had none
        self.partly_since: float | None = None
        self.waits: str = ""  # what its user was told last

    def next_stage(self) -> set[str]:
        """Members whose pods are made before any other has a seat, of those that are not done."""
        left = [slot for name, slot in self.slots.items() if name not in self.done]
        lowest = min((slot.stage for slot in left), default=0)
        return {slot.name for slot in left if slot.stage == lowest}

    def made(self) -> set[str]:
        """Members whose pods exist."""
        return {slot for slot, pod in self.pods.values() if not pod.leaving and pod.phase != "Failed"} | self.done

    def seated(self) -> set[str]:
        return {slot for slot, pod in self.pods.values() if pod.takes_room and not pod.leaving} | self.done
