# Names of locks and stores, which tenure is asked for.
_tenure_names() {
    local program=${(Q)tenure_words[1]} found
    # A quote that is still open is no part of the name.
    local typed=${${(Q)tenure_words[tenure_at]}#[\"\']}
    local -a names
    (( $+commands[$program] )) || [[ -x $program ]] || program=tenure
    if ! found=$(command $program complete-names -- "${(@Q)tenure_words[1,tenure_at-1]}" "$typed" 2>/dev/null </dev/null)
    then
        _default
        return
    fi
    names=("${(@f)found}")
    [[ -n $found ]] && compadd -a names
}

