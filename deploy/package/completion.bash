# shellcheck shell=bash
# Completes the words of sliced and slicesim by what their --help lists: there is no second list.
_sliced() {
    local word=${COMP_WORDS[COMP_CWORD]} command=() words=
    # the options of a command are in its own help
    if [ "$COMP_CWORD" -gt 1 ] && [[ ${COMP_WORDS[1]} =~ ^[a-z]+$ ]]; then
        command=("${COMP_WORDS[1]}")
    fi
    if [[ $word == -* ]]; then
        words=$("$1" "${command[@]}" --help 2>/dev/null | sed -n 's/^  \(--[a-z-]*\).*/\1/p')
    elif [ "$COMP_CWORD" -eq 1 ]; then
        words=$("$1" --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
    else
        compopt -o default # files
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _sliced sliced slicesim
