
# Names of locks and stores, which tenure is asked for.
function __tenure_words
    commandline -opc
    # A quote that is still open is no part of the name.
    string replace -r '^["\']' '' -- (commandline -ct | string collect -a) | string replace -a '\\' ''
end

function __tenure_names
    set -l words (__tenure_words)
    command tenure complete-names -- $words 2>/dev/null </dev/null
end

function __tenure_wants_names
    set -l words (__tenure_words)
    command tenure complete-names --place -- $words >/dev/null 2>&1 </dev/null
end

complete -c tenure -n "__tenure_wants_names" -f -a "(__tenure_names)"
complete -c tenure -l store -x -a "(__tenure_names)"
complete -c tenure -n "__fish_tenure_using_subcommand run" -l all -x -a "(__tenure_names)"
