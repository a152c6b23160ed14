"""`understudy top`: how many accelerators each node or job holds."""

import argparse
import time
from collections.abc import Mapping, Sequence

from understudy.cli.input.times import short_duration
from understudy.cli.options import VerbParser, add_all_namespaces, add_cluster_options, add_type
from understudy.cli.output.formats import print_as
from understudy.cli.output.tables import NONE, show, status_colours, table
from understudy.cli.queries.instances import Instance
from understudy.cli.queries.jobs import JobSummary, read_job, read_jobs
from understudy.cli.queries.nodes import node_summaries, select_nodes
from understudy.cli.session import Session, run_in_session
from understudy.cli.views.figures import job_figures
from understudy.cli.views.nodes import node_detail_lines, node_lines, usage_figures
from understudy.model.quantity import format_quantity

ABOUT = """\
Show how many accelerators there are and how many are taken: by node, or by job. Every accelerator counts,
of whatever maker (nvidia.com/gpu, google.com/tpu, amd.com/gpu ...); -o wide shows CPU and memory as well."""
_NODE_EXAMPLES = """\
examples:
  understudy top node
  understudy top node -d                    which pods hold them
  understudy top node slice-0-0 -o wide     one node, with CPU and memory"""
_JOB_EXAMPLES = """\
examples:
  understudy top job -A
  understudy top job medium                 each of its instances, with CPU and memory"""
_FORMS = ("wide", "json", "yaml", "name")


def add_flags(parser: VerbParser) -> None:
    parts = parser.add_subparsers(title="of what", metavar="node|job", required=True)
    node = parts.add_parser("node", aliases=["nodes", "no"], help="by node", description=ABOUT, epilog=_NODE_EXAMPLES)
    node.add_argument("names", metavar="NAME", nargs="*", help="only these nodes")
    node.add_argument("-d", "--details", action="store_true", help="the pods that hold them, node by node")
    node.set_defaults(run=run_node)
    job = parts.add_parser("job", aliases=["jobs"], help="by job", description=ABOUT, epilog=_JOB_EXAMPLES)
    job.add_argument("job", metavar="JOB", nargs="?", help="the instances of this job (default: all jobs)")
    add_all_namespaces(job, "jobs of")
    add_type(job)
    job.set_defaults(run=run_job)
    for part in (node, job):
        part.add_argument("-o", "--output", choices=_FORMS, default="", help="form (default: a table)")
        add_cluster_options(part)


def run_node(options: argparse.Namespace) -> int:
    async def work(session: Session) -> int:
        nodes = await node_summaries(session.client, options.names)
        usages = select_nodes([one.usage for one in nodes], options.names)
        states = {one.usage.name: one.state for one in nodes}
        figures = {"nodes": [usage_figures(usage, states[usage.name]) for usage in usages]}
        if print_as(options.output, figures, [f"node/{usage.name}" for usage in usages]):
            return 0
        now = time.time()
        if options.details:
            show(node_detail_lines(usages, states, now, named=bool(options.names)))
        else:
            show(node_lines(usages, states, now, wide=options.output == "wide"))
        return 0

    return run_in_session(options, work)


def run_job(options: argparse.Namespace) -> int:
    async def work(session: Session) -> int:
        if options.job is not None:
            jobs = [await read_job(session, options.job, options.type)]
        else:
            jobs = await read_jobs(session, options.type, everywhere=options.all_namespaces)
        now = time.time()
        figures = [job_figures(job, now) for job in jobs]
        value = figures[0] if options.job is not None else {"jobs": figures}
        if print_as(options.output, value, [job.full_name for job in jobs]):
            return 0
        if options.job is not None:
            show(instance_usage_lines(jobs[0], now))
        else:
            show(job_usage_lines(jobs, now, everywhere=options.all_namespaces, wide=options.output == "wide"))
        return 0

    return run_in_session(options, work)


HEAD = ["NAME", "GPU(Requests)", "GPU(Allocated)", "STATUS", "TRAINER", "AGE", "NODE"]


def job_usage_lines(
    jobs: Sequence[JobSummary], now: float, *, everywhere: bool = False, wide: bool = False
) -> list[str]:
    rows = [[*HEAD, *(["CPU", "MEMORY"] if wide else [])]]
    for job in jobs:
        node = job.chief.shown_node if job.chief else NONE
        row = [job.name, str(job.gpus_requested), str(job.gpus_allocated), job.status, job.trainer]
        rows.append([*row, short_duration(job.age(now)), node, *(_cpu_and_memory(job.requested) if wide else [])])
    if everywhere:
        rows = [[space, *row] for space, row in zip(["NAMESPACE", *(job.namespace for job in jobs)], rows, strict=True)]
    return table(rows, status_colours()) + _totals(jobs)


def instance_usage_lines(job: JobSummary, now: float) -> list[str]:
    rows = [["INSTANCE", "GPU(Requests)", "GPU(Allocated)", "CPU", "MEMORY", "STATUS", "AGE", "NODE"]]
    for one in job.instances:
        held = str(one.gpus if one.seated else 0)
        row = [one.name, str(one.gpus), held, *_cpu_and_memory(one.requests), one.status]
        rows.append([*row, short_duration(now - one.created), one.shown_node])
    return table(rows, status_colours()) + _totals([job])


def _totals(jobs: Sequence[JobSummary]) -> list[str]:
    """The sums of GPUs. A job that has ended neither holds nor requests any."""
    wanted = sum(job.gpus_requested for job in jobs if not job.finished)
    held = sum(_held(job.instances) for job in jobs)
    return [
        "",
        "Total Allocated GPUs of Training Job:",
        str(held),
        "",
        "Total Requested GPUs of Training Job:",
        str(wanted),
    ]


def _held(instances: Sequence[Instance]) -> int:
    return sum(one.gpus for one in instances if one.seated)


def _cpu_and_memory(amounts: Mapping[str, int]) -> list[str]:
    return [format_quantity(amounts.get(name, 0), name) for name in ("cpu", "memory")]
