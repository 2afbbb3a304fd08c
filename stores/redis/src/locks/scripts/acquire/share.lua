-- The usual way of sharing: others share the lock in the same way, there is room, and nobody is before.
if short and sole == '' and n > 0 and not waits and not holds and not old and ask ~= 'x' then
    local upto, most = now + ttl * 1000, tonumber(string.match(limits, '(%d+) %d$'))
    local fits = kind == 's' and p == 0 or kind == 'p' and s == 0 and p + take <= of
    fits = fits and n < most and till >= upto and redis.acl_check_cmd('HSET', lock, '', '')
        and redis.acl_check_cmd('ZADD', ends, '', '') and attempt('ZCARD', ends) == n
    -- Who is offered a share has been before already.
    if fits and present > 0 and not barges then
        local waiters = present < 8 and place == '' and attempt('ZRANGEBYSCORE', line, '-inf', '(0') or {}
        fits = #waiters == present
        for index = 1, fits and present or 0 do
            fits = fits and attempt('ZSCORE', ends, 'o' .. string.sub(waiters[index], 3, 34))
        end
    end
    if fits then
        local fresh = tick(clock, now)
        if not fresh then return {owner, 'corrupt'} end
        redis.call('HSET', lock, 'n', n + 1, kind, (kind == 's' and s or p) + take,
            'end', math.min(first_end, upto),
            'h' .. owner, cmsgpack.pack({kind, take, of, fresh, '', 0, label, use}))
        redis.call('ZADD', ends, upto, 'h' .. owner)
        return {owner, 'granted', fresh, tonumber(ttl), present > 0 and 1 or 2}
    end
end
