"""The flags that all job kinds share, in groups. docs/reference/submit.md says what each becomes."""

import argparse

from understudy.cli.options import add_log_level
from understudy.cli.submit import flag_values

CLEANING = ("None", "Running", "All")
TENSORBOARD_IMAGE = "tensorflow/tensorflow:2.16.1"


def add_shared(parser: argparse.ArgumentParser) -> None:
    _add_job(parser)
    _add_pods(parser)
    _add_place(parser)
    _add_files(parser)
    _add_image(parser)
    _add_life(parser)


def add_doing(parser: argparse.ArgumentParser) -> None:
    """Adds the flags that say what to do with the job that the other flags describe."""
    group = parser.add_argument_group("what is done with it")
    add = group.add_argument
    add("-f", "--filename", metavar="FILE", dest="file", help="start from this manifest of a job (- for stdin)")
    add("--set", metavar="PATH=VALUE", action="append", default=[],
        help="set a field of the job, such as spec.runPolicy.suspend=true; may be repeated")  # fmt: skip
    add("--dry-run", action="store_true", help="print the YAML; change nothing")
    add("--yes", action="store_true", help="submit it even if the cluster could not hold it; do not ask")
    add_log_level(group, "it says")
    how = group.add_mutually_exclusive_group()
    how.add_argument("--wait", action="store_true", help="wait until it has ended: 0 when it succeeded, 1 when not")
    how.add_argument("--watch", action="store_true", help="the same, with a live view")


def _add_job(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("the job").add_argument
    add(
        "--name",
        metavar="NAME",
        type=flag_values.job_name,
        help=f"its name, {flag_values.LONGEST_NAME} characters at most",
    )
    add("-p", "--priority", metavar="CLASS", help="the PriorityClass of all its pods")
    add("--on-preemption", choices=("requeue", "fail"), help="queue again when preempted (default), or end as failed")
    add("--warm", metavar="N", type=flag_values.understudies, default=0,
        help="understudies to hold ready on spares, to step in for lost members (default: 0)")  # fmt: skip
    add("--gang", action="store_true", help="label the pods as one group, for schedulers that need that")
    add("--queue", action="store_true", help="leave the job to kube-queue until it says go")
    add("-l", "--label", metavar="K=V", type=flag_values.label, action="append", default=[],
        help="a label for the job and its pods; may be repeated")  # fmt: skip
    add("-a", "--annotation", metavar="K=V", type=flag_values.annotation, action="append", default=[],
        help="an annotation for the job and its pods; may be repeated")  # fmt: skip


def _add_pods(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("its pods").add_argument
    add("--workers", metavar="N", type=flag_values.positive, default=1, help="how many (default: 1)")
    add("--gpus", metavar="N", type=flag_values.count, default=0, help="GPUs of each worker (default: 0)")
    add("--cpu", metavar="AMOUNT", type=flag_values.cpu, help="CPUs of each worker, such as 4 or 500m")
    add("--memory", metavar="AMOUNT", type=flag_values.memory, help="memory of each worker, such as 16Gi")
    add("--device", metavar="K=N", type=flag_values.device, action="append", default=[],
        help="another accelerator of each worker, such as google.com/tpu=4; may be repeated")  # fmt: skip
    add("--rdma", action="store_true", help="an RDMA adapter (rdma/hca) for each worker")
    add("-e", "--env", metavar="K=V", type=flag_values.variable, action="append", default=[],
        help="a variable; may be repeated")  # fmt: skip
    add("--share-memory", metavar="AMOUNT", type=flag_values.memory, help="size of /dev/shm, such as 2Gi")
    add("--hostNetwork", "--host-network", dest="host_network", action="store_true", help="use the node's network")
    add("--hostIPC", "--host-ipc", dest="host_ipc", action="store_true", help="use the node's IPC")
    add("--hostPID", "--host-pid", dest="host_pid", action="store_true", help="see the node's processes")


def _add_place(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("where they run").add_argument
    add("--selector", metavar="K=V", type=flag_values.label, action="append", default=[],
        help="only on nodes with this label; may be repeated")  # fmt: skip
    add("--toleration", metavar="TAINT", type=flag_values.toleration, action="append", default=[],
        help="also on nodes with this taint: KEY=VALUE:EFFECT, KEY, or all; may be repeated")  # fmt: skip
    add("--exclusive", metavar="LABEL", type=flag_values.label_key,
        help="own the nodes that share a value of this node label, such as a slice or a rack")  # fmt: skip
    add("--scheduler", metavar="NAME", help="the scheduler of the pods (default: the cluster's)")


def _add_files(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("code and data").add_argument
    add("--sync-mode", "--syncMode", choices=("git", "rsync"), help="how code is fetched before the pods start")
    add("--sync-source", "--syncSource", metavar="URL", help="where code comes from; it is then in WORKING-DIR/code")
    add("--sync-image", "--syncImage", metavar="IMAGE", help="the image that fetches it")
    add("--working-dir", "--workingDir", metavar="PATH", type=flag_values.path, default="/root",
        help="where the command runs (default: /root)")  # fmt: skip
    add("-d", "--data", metavar="CLAIM:PATH", type=flag_values.claim, action="append", default=[],
        help="mount a PersistentVolumeClaim; may be repeated")  # fmt: skip
    add("--data-dir", "--dataDir", metavar="PATH[:PATH]", type=flag_values.folder, action="append", default=[],
        help="mount a folder of the node; may be repeated")  # fmt: skip
    add("--config-file", metavar="FILE:PATH", type=flag_values.file, action="append", default=[],
        help="show a file of this machine to the pods; may be repeated")  # fmt: skip
    add("--tensorboard", action="store_true", help="run a TensorBoard beside it")
    add("--tensorboard-image", "--tensorboardImage", metavar="IMAGE", default=TENSORBOARD_IMAGE,
        help=f"its image (default: {TENSORBOARD_IMAGE})")  # fmt: skip
    add("--logdir", metavar="PATH", type=flag_values.path, default="/training_logs",
        help="where the job writes what TensorBoard shows (default: /training_logs)")  # fmt: skip


def _add_image(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("the image").add_argument
    add("--image", metavar="IMAGE", help="what the pods run; may be left out where images are not pulled")
    add("--image-pull-policy", choices=("Always", "IfNotPresent", "Never"), default="Always",
        help="default: Always")  # fmt: skip
    add("--image-pull-secret", metavar="NAME", action="append", default=[], help="may be repeated")
    add("--shell", metavar="SHELL", default="sh", help="what runs the command (default: sh)")


def _add_life(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("how it ends").add_argument
    add("--retry", metavar="N", type=flag_values.count, default=0, help="how many failures are forgiven (default: 0)")
    add(
        "--running-timeout", metavar="TIME", type=flag_values.seconds, help="fail it when it runs longer, such as 2h30m"
    )
    add("--ttl-after-finished", metavar="TIME", type=flag_values.seconds, help="remove it so long after its end")


def add_cleaning(parser: argparse.ArgumentParser, default: str) -> None:
    """Adds the flag for kinds whose pods may outlive the job."""
    parser.add_argument("--clean-task-policy", "--cleanTaskPolicy", choices=CLEANING, default=default,
                        help=f"which pods are removed when it has ended (default: {default})")  # fmt: skip
