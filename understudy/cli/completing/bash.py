"""The tree of verbs as a completion script for bash."""

from collections.abc import Iterator

from understudy.cli.completing.tree import PROGRAM, Place, Source, Verb

_HEAD = """\
# Completion of `understudy` for bash. To have it always:
#   understudy completion bash > ~/.local/share/bash-completion/completions/understudy
# or for this shell alone: source <(understudy completion bash)

_understudy_asked() {  # names from the cluster that the line names; silence where it does not answer
    local i known=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "${COMP_WORDS[i]}" in
            -n|--namespace|--cluster|--context|--kubeconfig) known+=("${COMP_WORDS[i]}" "${COMP_WORDS[i + 1]}") ;;
        esac
    done
    "${COMP_WORDS[0]}" "$@" -o name "${known[@]}" 2>/dev/null | sed 's|.*/||'
}

_understudy() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} path= i
    if [[ $cur == = ]]; then cur=
    elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$path/${COMP_WORDS[i]}" in
"""
_MIDDLE = """\
                path="$path/${COMP_WORDS[i]}" ;;
        esac
    done
    COMPREPLY=()
    case "$path $prev" in
"""
_FLAGS = """\
    esac
    if [[ $cur == -* ]]; then
        case "$path" in
"""
_WORDS = """\
        esac
        return
    fi
    case "$path" in
"""
_TAIL = f"""\
    esac
}}

complete -F _understudy {PROGRAM}
"""
_SOURCES = {
    Source.FILES: 'compgen -f -- "$cur"',
    Source.JOBS: 'compgen -W "$(_understudy_asked list)" -- "$cur"',
    Source.NODES: 'compgen -W "$(_understudy_asked node list)" -- "$cur"',
}


def script(tree: Verb) -> str:
    verbs = list(tree.every())
    return "".join(
        (
            _HEAD,
            "            " + "|".join(f'"{verb.path}"' for verb in verbs if verb.path) + ")\n",
            _MIDDLE,
            *(f"        {line}\n" for verb in verbs for line in _values(verb)),
            _FLAGS,
            *(f'            "{verb.path}") {_reply(Place(verb.flags))} ;;\n' for verb in verbs),
            _WORDS,
            *(f'        "{verb.path}") {reply} ;;\n' for verb in verbs if (reply := _arguments(verb))),
            _TAIL,
        )
    )


def _values(verb: Verb) -> Iterator[str]:
    """After an option that takes a value comes nothing else."""
    for option in verb.options:
        if option.value is not None:
            names = "|".join(f'"{verb.path} {name}"' for name in option.names)
            reply = _reply(option.value)
            yield f"{names}) {reply}{'; ' if reply else ''}return ;;"


def _arguments(verb: Verb) -> str:
    return _reply(Place(tuple(part.name for part in verb.verbs)) if verb.verbs else verb.place)


def _reply(place: Place) -> str:
    if place.words:
        return f'COMPREPLY=($(compgen -W "{" ".join(place.words)}" -- "$cur"))'
    return f"COMPREPLY=($({_SOURCES[place.source]}))" if place.source in _SOURCES else ""
