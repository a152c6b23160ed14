"""Runs the pods of all virtual nodes of this machine as local processes, which outlive the agent."""

from understudy.embedded.cluster_folder import ClusterFolder


def run(folder: ClusterFolder) -> None:
    """Until SIGTERM or SIGINT."""
    import asyncio

    from understudy.embedded.agent.main import main

    asyncio.run(main(folder))
