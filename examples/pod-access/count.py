"""Asks the API how many pods there are in this namespace, as client libraries do it: with the pod's own token."""

import json
import os
import ssl
import urllib.error
import urllib.request
from pathlib import Path

folder = Path(os.environ.get("UNDERSTUDY_SERVICE_ACCOUNT", "/var/run/secrets/kubernetes.io/serviceaccount"))
server = f"https://{os.environ['KUBERNETES_SERVICE_HOST']}:{os.environ['KUBERNETES_SERVICE_PORT']}"
namespace = (folder / "namespace").read_text()
request = urllib.request.Request(f"{server}/api/v1/namespaces/{namespace}/pods")
request.add_header("Authorization", f"Bearer {(folder / 'token').read_text()}")
try:
    answer = urllib.request.urlopen(request, context=ssl.create_default_context(cafile=folder / "ca.crt"))
    print(len(json.load(answer)["items"]), "pods")
except urllib.error.HTTPError as refusal:
    print(json.load(refusal)["message"])
