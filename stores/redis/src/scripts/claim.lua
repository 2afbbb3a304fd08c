-- The usual claim: the lock is offered to this waiter alone, and it wants it as it did before.
if ask == 'x' and not old and counts[1] == '1' and counts[2] == '1' and counts[8] and not counts[7]
    and cmsgpack.unpack(counts[8])[1] == 'x' then
    local offers = attempt('ZRANGE', ends, 0, 1, 'WITHSCORES')
    local kept = attempt('ZRANGE', keeps, 0, 0, 'WITHSCORES')
    if #offers == 2 and offers[1] == 'o' .. owner and tonumber(offers[2]) > now
        and kept[2] and tonumber(kept[2]) > now then
        local upto = now + ttl * 1000
        local till = math.max(tonumber(counts[6] or 0), upto)
        -- It is in line itself.
        local others = attempt('ZCARD', queue) > 1 and 1 or 0
        needs(lock, 'HSET', 'HDEL')
        needs(ends, 'ZADD', 'ZREM')
        needs(keeps, 'ZREM')
        needs(queue, 'ZREM')
        if till == upto then
            needs(lock, 'PEXPIREAT')
            needs(ends, 'PEXPIREAT')
        end
        local fresh = tick(clock, now)
        if not fresh then return {owner, 'corrupt'} end
        redis.call('HSET', lock, 'h' .. owner, cmsgpack.pack({'x', 1, 0, fresh, '', 0, label, use}),
            'till', string.format('%.0f', till))
        redis.call('HDEL', lock, 'w' .. owner)
        redis.call('ZADD', ends, upto, 'h' .. owner)
        redis.call('ZREM', ends, 'o' .. owner)
        redis.call('ZREM', keeps, owner)
        redis.call('ZREM', queue, owner)
        if till == upto then
            redis.call('PEXPIREAT', lock, math.ceil(till / 1000))
            redis.call('PEXPIREAT', ends, math.ceil(till / 1000))
        end
        return {owner, 'granted', fresh, tonumber(ttl), others}
    end
end
-- What is no clock is found before anything changes.
local last = last_time(clock)
if not last then return {owner, 'corrupt'} end
needs(clock, 'SET')
needs(queue, 'ZADD', 'ZCOUNT', 'ZSCORE', 'ZRANGEBYSCORE')
needs(keeps, 'ZADD')
