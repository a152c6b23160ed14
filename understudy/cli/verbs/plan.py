"""`understudy plan`: reads a cluster, from files or as it is, and prints what Understudy would do. Changes nothing."""

import argparse
import sys
import time

from understudy.cli.errors import BadInput
from understudy.cli.input.times import parse_time
from understudy.cli.options import VerbParser, add_cluster_options
from understudy.cli.plan.answer import LiveCluster, PlanOutput, PlanRequest, answer_request
from understudy.cli.queries.installation import scheduler_of
from understudy.cli.queries.scheduler_state import SchedulerObjectReader, settings_in_force
from understudy.cli.session import Session, run_in_session
from understudy.kube.settings import SCHEDULER_NAME

ABOUT = """\
Print the plan Understudy would carry out now: who starts and on which nodes, who gives
way to whom, what replaces what broke, and why waiting jobs wait.

It reads plain Kubernetes objects (YAML, JSON, or a List from `kubectl get ... -o yaml`),
or with --from-cluster what a living cluster holds; then -f adds objects to it: "what if I
submitted this job?". It changes nothing anywhere. Jobs whose pods do not exist yet are
planned from their templates."""

EXAMPLES = """\
changes for --what-if:
  fail-node=NAME[,NAME...]   these nodes are lost, all at once
  drain=NODE@DEADLINE        the node will be gone then: RFC 3339, seconds since 1970, or +5m
  add=FILE                   the objects in the file are there too
  remove=GANG                the gang is gone, with all its pods

examples:
  understudy plan -f cluster.yaml -f jobs/
  kubectl get nodes,pods,jobsets,priorityclasses -A -o yaml | understudy plan -f -
  understudy plan --from-cluster --what-if fail-node=node-7
  understudy plan --from-cluster -f job.yaml --explain my-job
  understudy plan -f cluster.yaml --explain high-priority
  understudy plan -f cluster.yaml --what-if fail-node=node-7,node-8
  understudy plan -f cluster.yaml --what-if drain=node-7@+10m --what-if add=job.yaml -o json

exit codes: 0 the plan was printed, 1 the cluster did not answer or let us look, 2 the input is wrong
(one line on stderr says where)"""


def add_flags(parser: VerbParser) -> None:
    add = parser.add_argument
    add("-f", "--filename", action="append", default=[], metavar="FILE", dest="files",
        help="objects to read: a file, a directory, or - for stdin; may be repeated")  # fmt: skip
    add("--from-cluster", action="store_true",
        help="read the cluster as it is now, and never write to it; -f adds to that")  # fmt: skip
    add("-o", "--output", choices=("text", "json", "yaml"), default="text", help="form of the plan (default: text)")
    add("--now", metavar="TIME", help="plan for this moment: RFC 3339 or seconds since 1970 (default: the real time)")
    add("--explain", metavar="GANG",
        help="tell the whole story of one gang: NAME, NAMESPACE/NAME or KIND/NAMESPACE/NAME")  # fmt: skip
    add("--what-if", action="append", default=[], metavar="CHANGE", dest="what_if",
        help="plan with and without a change, see below; may be repeated, all come true together")  # fmt: skip
    add("--settings", metavar="FILE", help="an understudy.yaml with the sections policy: and health:")
    add("--scheduler", metavar="NAME",
        help="only pods with this spec.schedulerName are Understudy's to place (default: all; with --from-cluster "
             f"{SCHEDULER_NAME}, unless the cluster is an embedded one)")  # fmt: skip
    add_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.from_cluster:
        return run_in_session(options, lambda session: _plan_cluster(session, options))
    if not options.files:
        raise BadInput("which cluster? -f FILE reads one from files, --from-cluster the one that runs")
    if given := [name for name in ("cluster", "context", "kubeconfig", "namespace") if getattr(options, name)]:
        raise BadInput(f"--{given[0]} says where to look, and only --from-cluster looks: add it")
    return _print(answer_request(_request(options, time.time(), options.scheduler or "")))


async def _plan_cluster(session: Session, options: argparse.Namespace) -> int:
    chosen = await settings_in_force(session.client, options.settings)
    survey = await SchedulerObjectReader(session.client).survey()
    scheduler = scheduler_of(session.client) if options.scheduler is None else options.scheduler
    live = LiveCluster(survey, chosen.settings, session.namespace)
    request = _request(options, survey.now, scheduler)
    answer = answer_request(request, live)
    print(f"note: {_source_note(session, request, live)}; settings: {chosen.source}", file=sys.stderr)
    return _print(answer)


def _request(options: argparse.Namespace, now: float, scheduler: str) -> PlanRequest:
    return PlanRequest(
        files=tuple(options.files),
        now=now if options.now is None else _moment(options.now),
        form=options.output,
        explain=options.explain,
        what_if=tuple(options.what_if),
        settings=options.settings,
        scheduler=scheduler,
    )


def _print(answer: PlanOutput) -> int:
    for note in answer.notes:
        print(f"note: {note}", file=sys.stderr)
    sys.stdout.write(answer.text)
    return 0


def _source_note(session: Session, request: PlanRequest, live: LiveCluster) -> str:
    """The cluster that the plan is for, and which of its pods are ours: two plans may differ because these do."""
    kinds = [obj.kind for obj in live.survey.objects]
    counts = [
        f"{count} {kind.lower()}{'s' * (count != 1)}" for kind in ("Node", "Pod") for count in [kinds.count(kind)]
    ]
    seen = f"{session.client.config.server}: {', '.join(counts)}"
    whose = f"pods with schedulerName {request.scheduler} are ours" if request.scheduler else "all pods are ours"
    return f"{seen}; {whose}"


def _moment(text: str) -> float:
    return parse_time(text, "--now")
