"""The tree of verbs as a completion script for fish."""

from collections.abc import Iterator

from understudy.cli.completing.tree import PROGRAM, Option, Place, Source, Verb

_HEAD = """\
# Completion of `understudy` for fish. To have it always:
#   understudy completion fish > ~/.config/fish/completions/understudy.fish
# or for this shell alone: understudy completion fish | source

function __understudy_path
    set -l path ''
    for word in (commandline -opc)[2..-1]
        switch "$path/$word"
            case """
_MIDDLE = f"""
                set path "$path/$word"
        end
    end
    echo "$path"
end

function __understudy_at
    test (__understudy_path) = "$argv[1]"
end

function __understudy_asked  # names from the cluster that the line names; silence where it does not answer
    set -l known
    set -l line (commandline -opc)
    for i in (seq (count $line))
        if contains -- $line[$i] -n --namespace --cluster --context --kubeconfig
            set -a known $line[$i] $line[(math $i + 1)]
        end
    end
    command $line[1] $argv -o name $known 2>/dev/null | string replace -r '.*/' ''
end

complete -c {PROGRAM} -e
complete -c {PROGRAM} -f
"""
_SOURCES = {
    Source.JOBS: "'(__understudy_asked list)'",
    Source.NODES: "'(__understudy_asked node list)'",
}


def script(tree: Verb) -> str:
    verbs = list(tree.every())
    paths = " ".join(_quoted(verb.path) for verb in verbs if verb.path)
    return "".join((_HEAD, paths, _MIDDLE, *(f"{line}\n" for verb in verbs for line in _lines(verb))))


def _lines(verb: Verb) -> Iterator[str]:
    here = f"complete -c {PROGRAM} -n {_quoted(f'__understudy_at {verb.path!r}')}"
    for part in verb.verbs:
        yield f"{here} -a {_quoted(part.name)} -d {_quoted(part.about)}"
    if not verb.verbs and (words := _words(verb.place)):
        yield f"{here} {words}"
    for option in verb.options:
        yield f"{here} {_option(option)}"


def _option(option: Option) -> str:
    names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    value = [] if option.value is None else [_takes(option.value), _words(option.value)]
    return " ".join(filter(None, [*names, *value, f"-d {_quoted(option.about)}"]))


def _takes(value: Place) -> str:
    """A value is wanted; files are offered only where they make sense."""
    return "-r" if value.source is Source.FILES else "-x"


def _words(place: Place) -> str:
    if place.words:
        return f"-a {_quoted(' '.join(place.words))}"
    if place.source is Source.FILES:
        return "-F"
    return f"-a {_SOURCES[place.source]}" if place.source in _SOURCES else ""


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
