#!/usr/bin/env bash
# Counts in a file under a lock: bash hold.sh LOCK FILE TURNS
set -euo pipefail
trap '' PIPE

# acquire NAME OPTIONS...: sets token, or ends the script.
acquire() {
    coproc HOLD { exec tenure hold "$@" --json --parent $$; }
    child=$HOLD_PID checks=0
    # bash closes its own as soon as the coprocess ends.
    exec {out}<&"${HOLD[0]}" {in}>&"${HOLD[1]}" {HOLD[0]}<&- {HOLD[1]}>&-
    hear acquired
    [[ $said =~ \"token_number\":([0-9]+) ]] && token=${BASH_REMATCH[1]}
}

# hear EVENT [ID]: the next line about this event in said; the end of a hold ends the script.
hear() {
    while IFS= read -r said <&"$out"; do
        if [[ $said == *"\"event\":\"$1\""* && $said == *"${2:+\"id\":\"$2\"}"* ]]; then return; fi
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
    # An id finds the answer: that to an earlier check may be unread.
    echo "check $((++checks))" >&"$in" || true
    hear checked $checks
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
