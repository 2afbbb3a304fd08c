-- The usual way of sharing: others share the lock in the same way, there is room, and nobody waits.
if short and sole == '' and n > 0 and places == 0 and not holds and not old and ask ~= 'x' then
    local kind, take, of = string.match(ask, '^(%a) ?(%d*)[ /]?(%d*)$')
    local upto, most = now + ttl * 1000, tonumber(string.match(limits, '%d+$'))
    take, of = tonumber(take) or 1, tonumber(of) or 0
    local fits = kind == 's' and p == 0 or kind == 'p' and s == 0 and p + take <= of
    if fits and n < most and till >= upto and redis.acl_check_cmd('HSET', lock)
        and redis.acl_check_cmd('ZADD', ends) and attempt('ZCARD', ends) == n then
        local fresh = tick(clock, now)
        if not fresh then return {owner, 'corrupt'} end
        redis.call('HSET', lock, 'n', n + 1, kind, (kind == 's' and s or p) + take,
            'end', math.min(first_end, upto),
            'h' .. owner, cmsgpack.pack({kind, take, of, fresh, '', 0, label, use}))
        redis.call('ZADD', ends, upto, 'h' .. owner)
        return {owner, 'granted', fresh, tonumber(ttl), 2}
    end
end
