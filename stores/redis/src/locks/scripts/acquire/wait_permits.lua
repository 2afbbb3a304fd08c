-- The usual wait for permits: others have too many of them.
if short and sole == '' and n > 0 and s == 0 and kind == 'p' and p + take > of and not waits and not holds
    and not old and place == '' and not tries and redis.acl_check_cmd('HSET', lock, '', '')
    and redis.acl_check_cmd('ZADD', line, '', '') and redis.acl_check_cmd('PEXPIREAT', line, '')
    and redis.acl_check_cmd('HGET', lock, '') then
    local claim, place_ttl, look, most, counted = string.match(limits, '^(%d+) (%d+) (%d+) (%d+) %d+ (%d)$')
    local upto, offered, first = now + place_ttl, 0
    -- Who ends first may be a waiter who is offered permits.
    local soon = till >= upto and places < tonumber(most) and attempt('ZCARD', ends) == n
        and attempt('ZRANGE', ends, 0, 7, 'WITHSCORES') or {}
    for index = #soon - 1, 1, -2 do
        local holds_it = string.sub(soon[index], 1, 1) == 'h'
        if holds_it then first = index else offered = offered + 1 end
    end
    local holder = first and redis.call('HGET', lock, soon[first])
    if holder then
        holder = cmsgpack.unpack(holder)
        redis.call('ZADD', line, score(next_place), 'qp' .. owner .. channel, upto, 'k' .. owner)
        -- Who is offered permits is in line, too.
        local retry = retry_after(soon[2] - now, present - offered, offered, claim, look, place_ttl, counted)
        redis.call('HSET', lock, 'due', math.min(due, upto), 'next', next_place + 1,
            'present', present + 1, 'places', places + 1, 'w' .. owner,
            cmsgpack.pack({kind, take, of, next_place, channel, now, label, use or '', now + retry}))
        if places == 0 then redis.call('PEXPIREAT', line, math.ceil(till / 1000)) end
        return {owner, 'busy', retry, present, whole(next_place),
            'p ' .. holder[TAKE] .. ' ' .. holder[OF], holder[GRANT], math.floor((soon[first + 1] - now) / 1000),
            holder[LINGERS], holder[LABEL], holder[USE] or ''}
    end
end
