"""`understudy top`: who holds the accelerators, by node or by job."""

import argparse
from typing import Any

from understudy.cli.jobtypes import add_type
from understudy.cli.target import Session, add_target, with_session

_ABOUT = """\
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


def add_to(verbs: Any) -> None:
    parser: argparse.ArgumentParser = verbs.add_parser("top", help="show who holds the GPUs", description=_ABOUT)
    parts = parser.add_subparsers(title="of what", metavar="node|job", required=True)
    node = parts.add_parser("node", aliases=["nodes", "no"], help="by node", description=_ABOUT, epilog=_NODE_EXAMPLES)
    node.add_argument("names", metavar="NAME", nargs="*", help="only these nodes")
    node.add_argument("-d", "--details", action="store_true", help="the pods that hold them, node by node")
    node.set_defaults(run=run_node)
    job = parts.add_parser("job", aliases=["jobs"], help="by job", description=_ABOUT, epilog=_JOB_EXAMPLES)
    job.add_argument("job", metavar="JOB", nargs="?", help="the instances of this job (default: all jobs)")
    job.add_argument("-A", "--all-namespaces", action="store_true", help="jobs of all namespaces")
    add_type(job)
    job.set_defaults(run=run_job)
    for part in (node, job):
        part.add_argument("-o", "--output", choices=_FORMS, default="", help="form (default: a table)")
        add_target(part)


def run_node(options: argparse.Namespace) -> int:
    import asyncio

    from understudy.cli.jobs.figures import print_as
    from understudy.cli.jobs.gathering import nodes_of, pods_on
    from understudy.cli.jobs.nodes import in_detail, in_short, node_figures, selected, usage_of
    from understudy.cli.jobs.tables import show

    async def work(session: Session) -> int:
        nodes, pods = await asyncio.gather(nodes_of(session.client), pods_on(session.client, options.names))
        usages = usage_of(selected(nodes, options.names), pods)
        figures = {"nodes": [node_figures(usage) for usage in usages]}
        if print_as(options.output, figures, [f"node/{usage.name}" for usage in usages]):
            return 0
        if options.details:
            show(in_detail(usages, named=bool(options.names)))
        else:
            show(in_short(usages, wide=options.output == "wide"))
        return 0

    return with_session(options, work)


def run_job(options: argparse.Namespace) -> int:
    import time

    from understudy.cli.jobs.figures import job_figures, print_as
    from understudy.cli.jobs.holdings import of_instances, of_jobs
    from understudy.cli.jobs.reading import all_jobs, job_named
    from understudy.cli.jobs.tables import show

    async def work(session: Session) -> int:
        if options.job is not None:
            jobs = [await job_named(session, options.job, options.type)]
        else:
            jobs = await all_jobs(session, options.type, everywhere=options.all_namespaces)
        now = time.time()
        figures = [job_figures(job, now) for job in jobs]
        value = figures[0] if options.job is not None else {"jobs": figures}
        if print_as(options.output, value, [job.full_name for job in jobs]):
            return 0
        if options.job is not None:
            show(of_instances(jobs[0], now))
        else:
            show(of_jobs(jobs, now, everywhere=options.all_namespaces, wide=options.output == "wide"))
        return 0

    return with_session(options, work)
