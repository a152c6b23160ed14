"""The API server of the embedded cluster: Kubernetes' wire protocol in front of the store."""
