-- The usual wait: one has the lock for itself, or is offered it so, and a newcomer wants it so too.
if short and sole ~= '' and not waits and ask == 'x' and not old and place == '' and string.sub(how, 2) == 'w'
    and string.sub(sole, 2, 33) ~= owner and redis.acl_check_cmd('HSET', lock, '', '')
    and redis.acl_check_cmd('ZADD', line, '', '') and redis.acl_check_cmd('PEXPIREAT', line, '') then
    local claim, place_ttl, look, most, counted = string.match(limits, '^(%d+) (%d+) (%d+) (%d+) %d+ (%d)$')
    local offered, upto = string.sub(sole, 1, 1) == 'o', now + place_ttl
    local used, grant, shown = string.match(sole, '^(%a?)([^ ]*) (.*)$', 34)
    -- Nothing is over, so nothing that is to be written came of it.
    if places >= tonumber(most) and (offered or grant) then return {owner, 'full', places} end
    if till >= upto and (offered or grant) then
        redis.call('ZADD', line, score(next_place), 'qx' .. owner .. channel,
            upto, 'k' .. owner)
        local left, next_to = first_end - now, offered and 1 or 0
        local ahead = present + next_to
        local retry = retry_after(left, present, next_to, claim, look, place_ttl, counted)
        redis.call('HSET', lock, 'due', math.min(due, upto), 'next', next_place + 1,
            'present', present + 1, 'places', places + 1, 'w' .. owner,
            cmsgpack.pack({'x', 1, 0, next_place, channel, now, label, use or '', now + retry}))
        if places == 0 then redis.call('PEXPIREAT', line, math.ceil(till / 1000)) end
        local at = whole(next_place)
        if offered then return {owner, 'busy', retry, ahead, at} end
        return {owner, 'busy', retry, ahead, at, 'x', grant, math.floor(left / 1000),
            string.sub(sole, 1, 1) == 'l' and 1 or 0, shown, used}
    end
end
-- What is no clock is found before anything changes.
local last = last_time(clock)
if not last then return {owner, 'corrupt'} end
needs(clock, 1, 'SET')
needs(line, 2, 'ZADD')
needs(line, 1, 'ZSCORE')
