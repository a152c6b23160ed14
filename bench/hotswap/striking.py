"""What is done to the nodes: they die, hang, and come back. Nobody in the cluster is told."""

from understudy.embedded.doorway import FailNode, RecoverNode, ask
from understudy.embedded.folders import ClusterFolder


async def kill_node(folder: ClusterFolder, node: str) -> None:
    """The node and all processes of its pods, as if its power were cut."""
    await ask(folder.agent_socket, FailNode(node, "kill"))


async def freeze_node(folder: ClusterFolder, node: str) -> None:
    """The node and all processes of its pods stand still, and no connection is closed."""
    await ask(folder.agent_socket, FailNode(node, "freeze"))


async def recover_node(folder: ClusterFolder, node: str) -> None:
    await ask(folder.agent_socket, RecoverNode(node))
