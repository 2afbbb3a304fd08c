#!/usr/bin/env bash
# Counts in a file under a lock: bash hold.sh LOCK FILE TURNS
set -euo pipefail

# acquire NAME OPTIONS...: sets token, or ends the script.
acquire() {
    coproc HOLD { exec tenure hold "$@" --json --parent $$; }
    out=${HOLD[0]} in=${HOLD[1]} child=$HOLD_PID
    hear acquired
    [[ $said =~ \"token_number\":([0-9]+) ]] && token=${BASH_REMATCH[1]}
}

# hear EVENT: the next line about this event in said; the end of a hold ends the script.
hear() {
    while IFS= read -r said <&"$out"; do
        if [[ $said == *"\"event\":\"$1\""* ]]; then return; fi
        if [[ $said == *'"event":"lost"'* || $said == *'"exit_code":'* ]]; then break; fi
    done
    echo "not held: $said" >&2
    exit 1
}

# now: hundredths of a second, also of those in which the machine sleeps.
now() {
    read -r uptime _ </proc/uptime
    echo "${uptime/./}"
}

# check: sets until, when to count on the lock no more; ends the script if it was lost.
check() {
    local sent
    sent=$(now)
    echo check >&"$in"
    hear checked
    [[ $said == *'"held":true'* && $said =~ \"valid_ms\":([0-9]+) ]] || exit 1
    until=$((sent + BASH_REMATCH[1] / 10))
}

release() {
    exec {in}>&- {out}<&-
    wait "$child" || true
}

for ((turn = 0; turn < $3; turn++)); do
    acquire "$1" --wait 60s
    read -r count seen <"$2"
    ((token > seen)) || { echo "a newer holder wrote" >&2; exit 1; }
    check
    if (($(now) < until)); then echo "$((count + 1)) $token" >"$2"; fi
    release
done
