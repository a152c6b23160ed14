"""Who schedules what: pods by the scheduler they name, jobs that somebody else queues."""

from collections import Counter

from understudy.cli.checkup.findings import Finding, care, counted, named, note, well, wrong
from understudy.cli.checkup.installation import leads
from understudy.cli.checkup.seen import Seen
from understudy.objects.pods import DEFAULT_SCHEDULER

QUEUE = "kueue.x-k8s.io/queue-name"


def check(seen: Seen) -> list[Finding]:
    if seen.pods is None:
        return [care("pods may not be looked at", "ask as somebody who may list them")]
    return [*_pods(seen), *_kueue(seen)]


def _pods(seen: Seen) -> list[Finding]:
    live = [pod for pod in seen.pods or () if not pod.finished]
    if seen.embedded:
        unseated = sum(not pod.spec.node_name for pod in live)
        return [well(f"{counted(len(live), 'pod')}, {unseated} waiting for a seat")]
    every = Counter(pod.spec.scheduler_name or DEFAULT_SCHEDULER for pod in live)
    waiting = Counter(pod.spec.scheduler_name or DEFAULT_SCHEDULER for pod in live if not pod.spec.node_name)
    ours = seen.wish.scheduler
    found = []
    for name in sorted({ours, *every}, key=lambda name: (name != ours, name)):
        text = f"{name}: {counted(every[name], 'pod')}, {waiting[name]} waiting for a seat"
        if name == ours and waiting[name] and not leads(seen):
            found.append(wrong(f"{text}, and nobody leads who would give them one", "see `Understudy` above"))
        else:
            found.append(well(text) if name == ours else note(text))
    return found


def _kueue(seen: Seen) -> list[Finding]:
    queued = [one for one in seen.jobs or () if QUEUE in (one.document["metadata"].get("labels") or {})]
    if not queued:
        return []
    names = named(sorted(f"{one.namespace}/{one.name}" for one in queued))
    text = f"{counted(len(queued), 'job')} queued by Kueue: {names}"
    if not seen.serves("kueue.x-k8s.io", "workloads"):
        return [care(f"{text}, which is not there", "install Kueue, or take the label off: nobody lets them start")]
    return [note(f"{text}; it alone lets them start, Understudy seats their pods")]
