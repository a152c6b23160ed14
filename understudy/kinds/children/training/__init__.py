"""The kinds of the training operator: what they share, once. The file of a kind says what differs, as a `Kind`."""

from understudy.kinds.children.training.deciding import children
from understudy.kinds.children.training.judging import Outcome, when_seats_are_open
from understudy.kinds.children.training.objects import Kind, Replica, Role, TrainingJob
from understudy.kinds.children.training.standing import RoleStanding, Standing, all_done

__all__ = [
    "Kind",
    "Outcome",
    "Replica",
    "Role",
    "RoleStanding",
    "Standing",
    "TrainingJob",
    "all_done",
    "children",
    "when_seats_are_open",
]
