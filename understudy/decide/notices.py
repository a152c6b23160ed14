"""Notices: turns the deadlines of the leaving nodes of a gang into until when it may stay, and what it is asked to do.

A gang that reports checkpoints stays, with its new seats held, until it has saved one after the notice. So a move costs
no steps. It moves without one when the time that is left is its grace period and a margin."""

import msgspec

from understudy.decide.describe import time_text
from understudy.decide.gang_health import GangHealth
from understudy.decide.proposal import Proposal
from understudy.model.gangs import Gang
from understudy.model.nodes import Verdict
from understudy.model.plans import RequestCheckpoint
from understudy.model.snapshot import Snapshot


class NoticeTerms(msgspec.Struct, frozen=True):
    """The notices on the nodes of one gang, taken together. Times are whole seconds where they are written on pods."""

    deadline: float  # when the first of the nodes goes
    move_at: float  # the latest time at which members have to begin to move
    save_by: float  # until when the gang is asked to have saved
    told_at: float | None = None  # when the last notice came; None: unknown, so no checkpoint is known to be newer

    def grant_time(self, gang: Gang, now: float) -> bool:
        """Whether the gang stays for now, to save a checkpoint. One that never reports checkpoints would stay for
        nothing."""
        if gang.checkpoint_at is None or self.told_at is None:
            return False
        return gang.checkpoint_at <= self.told_at and now < self.move_at


def notice_terms(proposal: Proposal, gang: Gang, health: GangHealth) -> NoticeTerms | None:
    """None where no member is on a leaving node, where members are lost already, or where a node may go at any time."""
    if health.broken or not health.leaving:
        return None
    found = [proposal.snapshot.nodes[m.node].node.health for m in health.leaving]
    deadlines = [each.deadline for each in found if each.deadline is not None]
    if len(deadlines) < len(found):
        return None
    moments = [each.since for each in found if each.since is not None]
    told_at = max(moments) if len(moments) == len(found) else None
    deadline = min(deadlines)
    last = deadline - proposal.policy.notice_margin
    move_at = (last - gang.grace) // 1
    # With too little time to wait for a checkpoint, a gang that cannot move may still save one before the end.
    save_by = move_at if told_at is None or told_at < move_at else last // 1
    return NoticeTerms(deadline, move_at, save_by, told_at)


def request_checkpoint(proposal: Proposal, gang: Gang, terms: NoticeTerms, why: str) -> None:
    """Asks the gang to save, unless all its pods were asked for the same time."""
    asked = dict(gang.checkpoint_requests)
    if terms.save_by > proposal.now and any(asked.get(m.name) != terms.save_by for m in gang.seated()):
        words = f"{why}, it goes by {time_text(terms.deadline)}"
        proposal.record_unapplied(RequestCheckpoint(gang.key, terms.save_by, words))


def withdraw_requests(proposal: Proposal, snapshot: Snapshot) -> None:
    """Withdraws the requests to gangs that sit on no leaving node any more: they have moved, or the notice is gone."""
    if not len(snapshot.asked):
        return
    proposal.apply()
    for key in sorted(snapshot.asked):
        gang = proposal.snapshot.gangs[key]
        if gang.managed and not any(_is_leaving(proposal, m.node) for m in gang.seated()):
            proposal.record_unapplied(RequestCheckpoint(key, None, "it sits on no leaving node"))


def _is_leaving(proposal: Proposal, node: str) -> bool:
    return proposal.snapshot.nodes[node].node.health.verdict is Verdict.LEAVING
