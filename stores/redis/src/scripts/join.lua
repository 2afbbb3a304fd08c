-- The usual entry of one more reader, or of one more holder of permits: nobody waits, no lease is
-- over, and there is room.
if counts[1] and not (old or counts[7] or counts[8]) and place == '' and ask ~= 'x' then
    local kind, take, of = string.match(ask, '^(%a) ?(%d*)/?(%d*)$')
    take, of = tonumber(take) or 1, tonumber(of) or 0
    local n, x, s, p = tonumber(counts[1]), tonumber(counts[2]), tonumber(counts[3]), tonumber(counts[4])
    local fits = n and s and p and x == 0 and n > 0 and n < tonumber(string.match(limits, '%d+$'))
    fits = fits and (kind == 's' and p == 0 or kind == 'p' and s == 0 and p + take <= of)
    local first = fits and attempt('ZRANGE', ends, 0, 0, 'WITHSCORES')[2]
    if first and tonumber(first) > now and attempt('ZCARD', keeps) == 0
        and attempt('ZCARD', ends) == n then
        local upto = now + ttl * 1000
        local till = math.max(tonumber(counts[6] or 0), upto)
        needs(lock, 'HSET')
        needs(ends, 'ZADD')
        if till == upto then
            needs(lock, 'PEXPIREAT')
            needs(ends, 'PEXPIREAT')
        end
        local fresh = tick(clock, now)
        if not fresh then return {owner, 'corrupt'} end
        redis.call('HSET', lock, 'n', n + 1, kind, (kind == 's' and s or p) + take,
            'till', string.format('%.0f', till),
            'h' .. owner, cmsgpack.pack({kind, take, of, fresh, '', 0, label, use}))
        redis.call('ZADD', ends, string.format('%.0f', upto), 'h' .. owner)
        if till == upto then
            redis.call('PEXPIREAT', lock, math.ceil(till / 1000))
            redis.call('PEXPIREAT', ends, math.ceil(till / 1000))
        end
        -- The last says that others are there.
        return {owner, 'granted', fresh, tonumber(ttl), 0, 1}
    end
end
