"""The kubelet of all virtual nodes: runs their pods as local processes, which outlive the agent."""
