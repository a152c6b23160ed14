"""The agent as a process: connects to the API of its cluster, and runs until SIGTERM or SIGINT."""

import asyncio
import sys
import time

from understudy.client import connect
from understudy.client.kubeconfig import read_kubeconfig
from understudy.embedded.agent.agent import Agent, raise_file_limit, stop_on_signals
from understudy.embedded.agent.pods.dependencies import AgentApi
from understudy.embedded.agent.volumes.service_account_token import RequestedTokens, SharedToken, TokenSource
from understudy.embedded.cluster_folder import ADMIN_ACCESS, PODS, ClusterFolder
from understudy.embedded.niceness import EVENT_DELAY
from understudy.embedded.process_log import log_to_stderr
from understudy.ports import Cluster

_ROLE = "agent"
_SWITCH = 0.0002  # seconds until a thread that scans processes or removes folders yields to the event loop


def _tokens(folder: ClusterFolder, cluster: Cluster) -> TokenSource:
    if folder.read_settings().pod_access == ADMIN_ACCESS:
        return SharedToken(read_kubeconfig(folder.kubeconfig_of(PODS)).token)
    return RequestedTokens(cluster, time.time)


def run(folder: ClusterFolder) -> None:
    """Runs until SIGTERM or SIGINT."""
    asyncio.run(main(folder))


async def main(folder: ClusterFolder) -> None:
    log_to_stderr("%(asctime)s %(levelname)s %(message)s")
    raise_file_limit()
    sys.setswitchinterval(_SWITCH)
    stopped = asyncio.Event()
    stop_on_signals(stopped)
    async with connect(folder.kubeconfig_of(_ROLE)) as cluster:
        api = AgentApi(cluster, cluster.config.server, _tokens(folder, cluster))
        agent = Agent(folder, api, EVENT_DELAY)
        await agent.run(stopped)
