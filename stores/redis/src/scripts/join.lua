-- The usual entry of one more reader, or of one more holder of permits: nobody waits, no lease is
-- over, and there is room.
if counts[1] and not (old or counts[7] or counts[8]) and ask ~= 'x' then
    local kind, take, of = string.match(ask, '^(%a) ?(%d*)/?(%d*)$')
    take, of = tonumber(take) or 1, tonumber(of) or 0
    local n, x, s, p = tonumber(counts[1]), tonumber(counts[2]), tonumber(counts[3]), tonumber(counts[4])
    local fits = n and s and p and x == 0 and n > 0 and n < tonumber(string.match(limits, '%d+$'))
    fits = fits and (kind == 's' and p == 0 or kind == 'p' and s == 0 and p + take <= of)
    -- A lease that ends within this second may be over.
    if fits and attempt('ZCARD', keeps) == 0
        and attempt('ZCOUNT', ends, time[1] + 1 .. '000000', '+inf') == n then
        local upto = now + ttl * 1000
        local moves = upto > tonumber(counts[6] or 0)
        local till = string.format('%.0f', upto)
        needs(lock, 'HSET')
        needs(ends, 'ZADD')
        if moves then
            needs(lock, 'PEXPIREAT')
            needs(ends, 'PEXPIREAT')
        end
        local fresh = tick(clock, now)
        if not fresh then return {owner, 'corrupt'} end
        redis.call('HSET', lock, 'n', n + 1, kind, (kind == 's' and s or p) + take,
            'till', moves and till or counts[6],
            'h' .. owner, cmsgpack.pack({kind, take, of, fresh, '', 0, label, use}))
        redis.call('ZADD', ends, till, 'h' .. owner)
        if moves then
            local at = math.ceil(upto / 1000)
            redis.call('PEXPIREAT', lock, at)
            redis.call('PEXPIREAT', ends, at)
        end
        -- The last says that others are there.
        return {owner, 'granted', fresh, tonumber(ttl), 0, 1}
    end
end
