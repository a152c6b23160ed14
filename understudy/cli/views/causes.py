"""Why jobs do not run: the causes people meet, each with the evidence for it and the way out. One entry a cause.

`why` and `logs` show what this table finds. `says` and `help` may name {job}, {namespace}, {pod}, {node}, {container},
{code}, {reason}, {restarts}, the flags of `logs` that lead there ({instance}, {part}, {where}), and what the pattern of
the evidence names.
"""

import msgspec

from understudy.cli.queries.container_states import CRASH_LOOP


class Waits(msgspec.Struct, frozen=True):
    """A container waits for its (next) start."""

    reasons: tuple[str, ...] = ()  # none: any
    pattern: str = ""  # found in the message


class Ended(msgspec.Struct, frozen=True):
    """A container ended with an error, now or before its last restart."""

    reasons: tuple[str, ...] = ()
    codes: tuple[int, ...] = ()
    pattern: str = ""
    init: bool | None = None  # whether only init containers count, or only the others


class Unseated(msgspec.Struct, frozen=True):
    """The condition PodScheduled of a pod is false, with this in its message."""

    pattern: str


class WarningEvent(msgspec.Struct, frozen=True):
    """A warning event about the job, a child of it, or a pod that has not started."""

    reasons: tuple[str, ...]
    pattern: str = ""


class JobFailed(msgspec.Struct, frozen=True):
    """The condition with which the job failed."""

    reasons: tuple[str, ...]


Evidence = Waits | Ended | Unseated | WarningEvent | JobFailed


class Cause(msgspec.Struct, frozen=True):
    name: str
    evidence: tuple[Evidence, ...]  # any of them
    says: str
    help: str


_NOT_CREATED = ("FailedCreate", "FailedCreatePod", "InvalidObject", "JobCreationFailed", "PodCreationFailed")
_NOT_MOUNTED = ("FailedMount", "FailedAttachVolume")
NOT_MADE = "Its pods are not made: "
_NO_START = ("StartError", "ContainerCannotRun")

# Of each kind of evidence the first entry that fits counts, so what is special comes before what is general.
CAUSES = (
    # The pods are not made.
    Cause(
        "missing PriorityClass",
        (
            WarningEvent(_NOT_CREATED, r"no PriorityClass with name (?P<name>\S+) was found"),
            WarningEvent(_NOT_CREATED, r"there is no PriorityClass '(?P<name>[^']+)'"),
        ),
        NOT_MADE + "the cluster has no PriorityClass {name}.",
        "`understudy priority create {name} --value 1000` makes it, then the pods follow; `understudy priority list` "
        "shows the classes there are.",
    ),
    Cause(
        "missing service account",
        (WarningEvent(_NOT_CREATED, r"error looking up service account (?P<name>[^:\s]+)"),),
        NOT_MADE + "there is no ServiceAccount {name}.",
        "Create it, or take serviceAccountName out of the pod template; the pods follow.",
    ),
    Cause(
        "quota",
        (WarningEvent(_NOT_CREATED, r"exceeded quota: (?P<name>[^,]+), (?P<amounts>.+)"),),
        NOT_MADE + "ResourceQuota {name} of namespace {namespace} does not allow them: {amounts}.",
        "Let other jobs of the namespace end, ask for less, or have the quota raised; "
        "`kubectl describe resourcequota {name} -n {namespace}` shows what is used.",
    ),
    Cause(
        "pods refused",
        (WarningEvent(_NOT_CREATED, r"(?:Error creating: )?(?P<message>.+)"),),
        NOT_MADE + "{message}.",
        "Correct what the message names, and submit the job again.",
    ),
    # The pods have no node, or are not prepared on theirs.
    Cause(
        "missing PersistentVolumeClaim",
        (
            Unseated(r"PersistentVolumeClaim (?P<name>\S+) does not exist"),
            Unseated(r"persistentvolumeclaim \"(?P<name>[^\"]+)\" not found"),
            Waits(pattern=r"(?i)persistentvolumeclaim \"(?P<name>[^\"]+)\" not found"),
            WarningEvent(_NOT_MOUNTED, r"(?i)persistentvolumeclaim \"(?P<name>[^\"]+)\" not found"),
        ),
        "{pod} cannot start: there is no PersistentVolumeClaim {name}.",
        "Create the claim in namespace {namespace}, and the pods start by themselves; or correct --data.",
    ),
    Cause(
        "unbound PersistentVolumeClaim",
        (Unseated(r"unbound immediate PersistentVolumeClaims"),),
        "{pod} cannot be seated: a PersistentVolumeClaim of it is not bound to a volume.",
        "`kubectl get pvc -n {namespace}` shows which, and `kubectl describe pvc` why.",
    ),
    Cause(
        "missing key",
        (
            Waits(pattern=r"couldn't find key (?P<key>\S+) in (?P<what>ConfigMap|Secret) (?P<name>\S+)"),
            Waits(pattern=r"references non-existent (?P<what>config|secret) key: (?P<key>\S+)"),
            WarningEvent(_NOT_MOUNTED, r"references non-existent (?P<what>config|secret) key: (?P<key>\S+)"),
        ),
        "{pod} cannot start: a {what} has no key {key}.",
        "Add the key, and the pod starts by itself; or name the right key in the pod template.",
    ),
    Cause(
        "missing ConfigMap",
        (
            Waits(pattern=r"configmap \"(?P<name>[^\"]+)\" not found"),
            WarningEvent(_NOT_MOUNTED, r"configmap \"(?P<name>[^\"]+)\" not found"),
        ),
        "{pod} cannot start: there is no ConfigMap {name}.",
        "Create it in namespace {namespace}, and the pod starts by itself.",
    ),
    Cause(
        "missing Secret",
        (
            Waits(pattern=r"secret \"(?P<name>[^\"]+)\" not found"),
            WarningEvent(_NOT_MOUNTED, r"secret \"(?P<name>[^\"]+)\" not found"),
        ),
        "{pod} cannot start: there is no Secret {name}.",
        "Create it in namespace {namespace}, and the pod starts by itself.",
    ),
    Cause(
        "volume not mounted",
        (WarningEvent(_NOT_MOUNTED, r"(?P<message>.+)"),),
        "{pod} cannot start: a volume of it cannot be mounted: {message}.",
        "Correct the volume in the pod template; `kubectl describe pod {pod} -n {namespace}` shows all of it.",
    ),
    Cause(
        "image not pulled",
        (
            Waits(
                ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"),
                r"(?P<message>.*)",
            ),
        ),
        "{pod} cannot start: the image of container {container} cannot be had ({reason}): {message}.",
        "Correct --image; for a private registry, --image-pull-secret names the Secret with its password.",
    ),
    # A program does not start, or ends.
    Cause(
        "crash loop",
        (Waits((CRASH_LOOP,), r"(?:back-off (?P<pause>\S+))?"),),
        "{pod} is in a crash loop: container {container} was restarted {restarts} times, and its last exit code is "
        "{code}; it is started again after a pause of {pause}.",
        "`understudy logs {job}{instance}{part}{where}` prints what it said before it ended.",
    ),
    Cause(
        "failed init container",
        (Ended(init=True),),
        "{pod} could not begin: its init container {container} ended with exit code {code} ({reason}).",
        "`understudy logs {job}{instance} -c {container}{where}` prints its log. With --sync-mode it fetches the "
        "code: is --sync-source right, and can it be reached from there?",
    ),
    Cause(
        "no such program",
        (
            Ended(_NO_START, pattern=r"\"(?P<program>[^\"]+)\\?\": (?P<why>executable file not found|no such file)"),
            Waits(
                ("RunContainerError", "CreateContainerError"),
                r"\"(?P<program>[^\"]+)\\?\": (?P<why>executable file not found|no such file)",
            ),
            WarningEvent(
                ("Failed", "FailedStart"),
                r"\"(?P<program>[^\"]+)\\?\": (?P<why>executable file not found|no such file)",
            ),
        ),
        "{pod} could not start: there is no program {program} where container {container} runs.",
        "Correct the command, or take an image that has the program; on an embedded cluster the program must be in the "
        "PATH of this machine.",
    ),
    Cause(
        "container not started",
        (
            Ended(_NO_START, pattern=r"(?P<message>.+)"),
            Waits(("RunContainerError", "CreateContainerError", "CreateContainerConfigError"), r"(?P<message>.+)"),
        ),
        "{pod} could not start container {container}: {message}.",
        "Correct the command or the pod template, and submit the job again.",
    ),
    Cause(
        "out of memory",
        (Ended(("OOMKilled",)),),
        "{pod} was ended on {node} since container {container} used more memory than its limit "
        "(OOMKilled, exit code {code}).",
        "Give it more with --memory, or let it use less, such as a smaller batch.",
    ),
    Cause(
        "command not found",
        (Ended(codes=(127,)),),
        "{pod} ended with exit code 127: the shell of container {container} did not find a program of the command.",
        "Correct the command, or take an image that has the program.",
    ),
    Cause(
        "command not executable",
        (Ended(codes=(126,)),),
        "{pod} ended with exit code 126: a program of the command of container {container} may not be executed.",
        "`chmod +x` the file, or call it through its interpreter, such as `python train.py`.",
    ),
    Cause(
        "killed",
        (Ended(codes=(137,)),),
        "{pod} was killed on {node} (exit code 137, SIGKILL): it did not end within its grace period, "
        "or the machine ran out of memory.",
        "`understudy events {job}{where}` tells whether it had to leave its node.",
    ),
    Cause(
        "terminated",
        (Ended(codes=(143,)),),
        "{pod} was asked to end on {node} and did (exit code 143, SIGTERM).",
        "`understudy events {job}{where}` tells which other job, user or node had it stopped.",
    ),
    Cause(
        "crashed",
        (Ended(codes=(132, 134, 135, 136, 139)),),
        "{pod} crashed in native code: container {container} ended with exit code {code} (a signal such as SIGSEGV or "
        "SIGABRT).",
        "Its log has the last words; a mismatch of driver, library and framework is the usual cause.",
    ),
    Cause(
        "program failed",
        (Ended(),),
        "{pod} ended on {node} with exit code {code} ({reason}).",
        "`understudy logs {job}{instance}{part}{where}` prints its log.",
    ),
    # The job gave up.
    Cause(
        "retries used up",
        (JobFailed(("BackoffLimitExceeded", "PodFailurePolicy", "ReachedMaxRestarts", "FailedJobs")),),
        "It failed more often than it may.",
        "Failures are forgiven with --retry N (backoffLimit, or maxRestarts of a JobSet).",
    ),
    Cause(
        "ran too long",
        (JobFailed(("DeadlineExceeded",)),),
        "It ran longer than it may.",
        "--running-timeout (activeDeadlineSeconds) allows more.",
    ),
)
