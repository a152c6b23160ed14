"""Laws of the TrainJob kind, whatever becomes of its JobSet and its runtime and wherever its controller is cut off."""

import copy

from hypothesis import given
from hypothesis import strategies as st

from tests.kinds.children.trainjob.documents import patch, runtime, train_job
from tests.kinds.children.world import World, moment
from tests.objects.documents import Document
from understudy.objects.resources import CLUSTER_TRAINING_RUNTIMES, JOB_SETS

EVENTS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "complete",
                "fail",
                "busy",
                "idle",
                "suspend",
                "resume",
                "patch",
                "vanish",
                "runtime",
                "no runtime",
                "crash",
            ]
        ),
        st.integers(0, 5),
    ),
    max_size=25,
)


def jobset(world: World) -> Document | None:
    return world.children[JOB_SETS.key].get("train")


def befall(world: World, what: str, choice: int) -> None:
    made = jobset(world)
    over = bool(made and made.get("status", {}).get("conditions"))
    match what:
        case "complete" | "fail" if made and not over:
            kind = "Completed" if what == "complete" else "Failed"
            condition = {"type": kind, "status": "True", "reason": "x", "lastTransitionTime": moment(world.now)}
            made["status"] = {"conditions": [condition]}
        case "busy" | "idle" if made and not over:
            made["status"] = {"replicatedJobsStatus": [{"name": "node", "active": int(what == "busy")}]}
        case "suspend" | "resume":
            world.parent["spec"]["suspend"] = what == "suspend"
        case "patch":
            world.parent["spec"]["runtimePatches"] = [patch("node", nodeSelector={"pool": str(choice)})]
        case "vanish" if made:
            del world.children[JOB_SETS.key]["train"]
        case "runtime":
            world.bring(runtime(numNodes=choice))
        case "no runtime":
            world.read_objects[CLUSTER_TRAINING_RUNTIMES.key].clear()
        case "crash":
            world.carry_out(world.wanted(), steps=choice % 3)
    world.after(1)


@given(EVENTS, st.booleans(), st.none() | st.integers(1, 20))
def test_a_trainjob_ends_once_and_its_jobset_does_as_it_says(
    events: list[tuple[str, int]], known: bool, deadline: int | None
) -> None:
    world = World(train_job())
    if deadline is not None:
        world.parent["spec"]["activeDeadlineSeconds"] = deadline
    if known:
        world.bring(runtime())
    ended: Document = {}
    for what, choice in events:
        befall(world, what, choice)
        world.look()
        ends = {kind for kind in world.conditions() if kind in ("Complete", "Failed")}
        assert len(ends) <= 1
        if ended:
            assert world.status == ended
        elif ends:
            ended = copy.deepcopy(world.status)
        made = jobset(world)
        if ends and made is not None:
            assert made["status"]["conditions"]  # it ended by itself; nothing is left that runs
        if not ends:
            paused = world.parent["spec"].get("suspend", False)
            assert ("Suspended" in world.conditions()) == paused
            if made is not None and made["spec"]["suspend"] != paused:
                busy = made.get("status", {}).get("replicatedJobsStatus", [{"active": 0}])[0]["active"]
                lost = not world.read_objects[CLUSTER_TRAINING_RUNTIMES.key]
                assert busy or lost  # it is to be made again, and waits for pods to leave or for its runtime
