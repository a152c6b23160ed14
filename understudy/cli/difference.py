"""What sets two plans apart, in words: the answer to a what-if."""

from understudy.decide.describe import describe
from understudy.model.plans import Action, Hold, Plan, Wait


def differences(before: Plan, after: Plan) -> list[str]:
    """A sentence for each action only one of the plans has."""
    added = [f"after: {describe(action)}" for action in after.actions if action not in before.actions]
    dropped = [action for action in before.actions if action not in after.actions]
    return added + [f"no longer: {describe(action)}" for action in dropped if not _superseded(action, after)]


def _superseded(action: Action, after: Plan) -> bool:
    """Whether the later plan says something else of the same gang in its place: saying both would say it twice."""
    of_gang = [other for other in after.actions if other.gang == action.gang]
    return any(type(other) is type(action) for other in of_gang) or (isinstance(action, Wait | Hold) and bool(of_gang))
