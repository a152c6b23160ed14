"""The tree of verbs as a completion script for zsh."""

from collections.abc import Iterator

from understudy.cli.completing.tree import PROGRAM, Place, Source, Verb

_HEAD = f"""\
#compdef {PROGRAM}
# Completion of `understudy` for zsh. To have it always, put it into a folder of $fpath:
#   understudy completion zsh > "${{fpath[1]}}/_understudy"
# or for this shell alone: source <(understudy completion zsh)

_understudy_asked() {{  # names from the cluster that the line names; silence where it does not answer
    local -a known names
    local i
    for ((i = 2; i < CURRENT; i++)); do
        case "${{words[i]}}" in
            -n|--namespace|--cluster|--context|--kubeconfig) known+=("${{words[i]}}" "${{words[i + 1]}}") ;;
        esac
    done
    names=(${{(f)"$("${{words[1]}}" "$@" -o name $known 2>/dev/null)"}})
    compadd -- ${{names##*/}}
}}

_understudy() {{
    local cur=${{words[CURRENT]}} prev=${{words[CURRENT - 1]}} at= i
    local -a flags verbs
    for ((i = 2; i < CURRENT; i++)); do
        case "$at/${{words[i]}}" in
"""
_MIDDLE = """\
                at="$at/${words[i]}" ;;
        esac
    done
    case "$at $prev" in
"""
_FLAGS = """\
    esac
    if [[ $cur == -* ]]; then
        case "$at" in
"""
_WORDS = """\
        esac
        _describe -o option flags
        return
    fi
    case "$at" in
"""
_TAIL = f"""\
    esac
}}

if [[ "${{funcstack[1]}}" == _understudy ]]; then _understudy "$@"; else compdef _understudy {PROGRAM}; fi
"""
_SOURCES = {
    Source.FILES: "_files",
    Source.JOBS: "_understudy_asked list",
    Source.NODES: "_understudy_asked node list",
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
            *(f'            "{verb.path}") flags=({_described_flags(verb)}) ;;\n' for verb in verbs),
            _WORDS,
            *(f'        "{verb.path}") {reply} ;;\n' for verb in verbs if (reply := _arguments(verb))),
            _TAIL,
        )
    )


def _values(verb: Verb) -> Iterator[str]:
    for option in verb.options:
        if option.value is not None:
            names = "|".join(f'"{verb.path} {name}"' for name in option.names)
            reply = _reply(option.value)
            yield f"{names}) {reply}{'; ' if reply else ''}return ;;"


def _described_flags(verb: Verb) -> str:
    return " ".join(_described(name, option.about) for option in verb.options for name in option.names)


def _described(name: str, about: str) -> str:
    """As _describe wants it: `name:about`, in quotes."""
    text = f"{name}:{about}" if about else name
    return "'" + text.replace("'", "'\\''") + "'"


def _arguments(verb: Verb) -> str:
    if verb.verbs:
        return f"verbs=({' '.join(_described(part.name, part.about) for part in verb.verbs)}); _describe verb verbs"
    return _reply(verb.place)


def _reply(place: Place) -> str:
    return f"compadd -- {' '.join(place.words)}" if place.words else _SOURCES.get(place.source, "")
