-- The usual claim of permits: they are offered to this waiter.
if short and sole == '' and waits and kind == 'p' and not holds and not old
    and till >= now + ttl * 1000 and redis.acl_check_cmd('HSET', lock, '', '')
    and redis.acl_check_cmd('HDEL', lock, '') and redis.acl_check_cmd('ZREM', line, '')
    and redis.acl_check_cmd('ZADD', ends, '', '') and redis.acl_check_cmd('ZREM', ends, '')
    and redis.acl_check_cmd('ZSCORE', ends, '') then
    local waiter, upto = cmsgpack.unpack(waits), now + ttl * 1000
    if waiter[MODE] == kind and waiter[TAKE] == take and waiter[OF] == of
        and redis.call('ZSCORE', ends, 'o' .. owner) and attempt('ZCARD', ends) == n then
        local fresh = tick(clock, now)
        if not fresh then return {owner, 'corrupt'} end
        redis.call('ZREM', line, 'k' .. owner, 'q' .. kind .. owner .. waiter[CHANNEL])
        redis.call('HSET', lock, 'present', present - 1, 'places', places - 1,
            'end', math.min(first_end, upto),
            'h' .. owner, cmsgpack.pack({kind, take, of, fresh, '', 0, label, use}))
        redis.call('HDEL', lock, 'w' .. owner)
        redis.call('ZADD', ends, upto, 'h' .. owner)
        redis.call('ZREM', ends, 'o' .. owner)
        return {owner, 'granted', fresh, tonumber(ttl), present > 1 and 1 or n > 1 and 2 or 0}
    end
end
