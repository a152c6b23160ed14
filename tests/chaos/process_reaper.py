"""`python -m tests.chaos.process_reaper FOLDER`: when its input ends, all processes that know the folder are killed and
it is removed. Its input is a pipe that the run holds; so this happens also when the run is killed."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.chaos.cluster import end_processes, mounts_under


def main() -> None:
    folder = Path(sys.argv[1])
    sys.stdin.buffer.read()
    end_processes(folder)
    for point in sorted(mounts_under(folder), reverse=True):
        subprocess.run(["umount", "-l", point], check=False)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
