"""A stand-in for nvidia-smi: a script that prints what the real one prints, or hangs."""

import json
import sys
from pathlib import Path

_SCRIPT = """\
#!{python}
import json, pathlib, sys, time
answer = json.loads(pathlib.Path(__file__).with_suffix(".json").read_text())
query = sys.argv[1].partition("=")[0]
told = answer.get(query, {{"out": "", "err": "", "code": 2}})
if told.get("hangs"):
    time.sleep(600)
sys.stdout.write(told.get("out", ""))
sys.stderr.write(told.get("err", ""))
sys.exit(told.get("code", 0))
"""
GPUS, ROWS = "--query-gpu", "--query-remapped-rows"
TWO_GPUS = "00000000:3B:00.0, 0\n00000000:86:00.0, 0\n"
TWO_ROWS = "00000000:3B:00.0, No\n00000000:86:00.0, No\n"


class NvidiaSmi:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "nvidia-smi"
        self.path.write_text(_SCRIPT.format(python=sys.executable))
        self.path.chmod(0o755)
        self.says(TWO_GPUS, TWO_ROWS)

    def says(self, gpus: str = "", rows: str = "", **fields: object) -> None:
        """`fields` are of the answer about GPUs: err, code, hangs."""
        told = {GPUS: {"out": gpus, **fields}, ROWS: {"out": rows}}
        waiting = self.path.with_suffix(".new")
        waiting.write_text(json.dumps(told))
        waiting.rename(self.path.with_suffix(".json"))
