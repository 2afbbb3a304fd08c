-- The usual claim: the lock is offered to this waiter for itself alone.
if short and sole == 'o' .. owner and waits and ask == 'x' and not old
    and till >= now + ttl * 1000 and redis.acl_check_cmd('HSET', lock, '', '')
    and redis.acl_check_cmd('HDEL', lock, '') and redis.acl_check_cmd('ZREM', line, '') then
    local fresh = tick(clock, now)
    if not fresh then return {owner, 'corrupt'} end
    redis.call('ZREM', line, 'k' .. owner)
    redis.call('HSET', lock, 'x', 'h' .. owner .. (use or '') .. fresh .. ' ' .. label,
        'end', now + ttl * 1000, 'places', places - 1)
    redis.call('HDEL', lock, 'w' .. owner)
    return {owner, 'granted', fresh, tonumber(ttl), present > 0 and 1 or 0}
end
