
# Names of locks and stores, which tenure is asked for. All else is in the function above.
_tenure_names() {
    local line=${COMP_LINE:0:COMP_POINT} program=$1 option= quote= value skip= found name i n=-1
    local -a words=()
    # The words as the shell will read them: bash breaks them at : and = as well.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        if [[ $n -lt 0 || $line == [[:space:]]* ]]; then
            line=${line#"${line%%[![:space:]]*}"}
            n=$((n + 1))
        fi
        name=${COMP_WORDS[i]}
        if [[ $i -eq $COMP_CWORD ]]; then name=$line; fi
        words[n]=${words[n]-}$name
        line=${line#"$name"}
    done
    value=${words[n]}
    if [[ $value == --*=* ]]; then
        option=${value%%=*}=
        value=${value#*=}
    fi
    case $value in
        \"*) quote=\" ;;
        \'*) quote=\' ;;
    esac
    name=${value#"$quote"}
    if [[ -z $quote ]]; then name=${name//\\/}; fi
    words[n]=$option$name
    type -P "$program" > /dev/null || program=tenure
    if ! found=$(command "$program" complete-names -- "${words[@]}" 2> /dev/null < /dev/null); then
        _tenure "$@"
        return
    fi
    compopt +o bashdefault +o default 2> /dev/null
    COMPREPLY=()
    # What stands before the last : stays where it is.
    if [[ -z $quote && $COMP_WORDBREAKS == *:* && $value == *:* ]]; then
        skip=${value%"${value##*:}"}
    fi
    while IFS= read -r name; do
        # Where there is none, one empty line is read.
        if [[ -z $name ]]; then continue; fi
        case $quote in
            \") if [[ $name == *[\"\$\`\\\!]* ]]; then continue; fi ;;
            \') if [[ $name == *\'* ]]; then continue; fi ;;
            *)
                printf -v name %q "$name"
                name=${name//\\,/,}
                ;;
        esac
        if [[ -n $name && $name == "$skip"* ]]; then COMPREPLY+=("${name#"$skip"}"); fi
    done <<< "$found"
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _tenure_names -o nosort -o bashdefault -o default tenure
else
    complete -F _tenure_names -o bashdefault -o default tenure
fi
