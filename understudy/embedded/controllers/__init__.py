"""The controllers of an embedded cluster, named as in kube-controller-manager, and the process that runs them."""
