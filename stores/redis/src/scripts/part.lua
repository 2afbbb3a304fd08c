-- The usual leave of a reader, or of a holder of permits: nobody waits, no lease is over, and others
-- stay. The keys end no later than the lease that is given up would have.
if keep == '0' and counts[2] == '0' and counts[7] and not counts[8] then
    local n, holder = tonumber(counts[1]), cmsgpack.unpack(counts[7])
    local kind = holder[1]
    local taken = tonumber(kind == 's' and counts[3] or counts[4])
    -- A lease that ends within this second may be over.
    if n and n > 1 and taken and holder[6] == 0 and attempt('ZCARD', keeps) == 0
        and attempt('ZCOUNT', ends, time[1] + 1 .. '000000', '+inf') == n then
        needs(lock, 'HSET')
        needs(ends, 'ZREM')
        -- First what a server out of memory permits.
        attempt('HDEL', lock, 'h' .. owner)
        redis.call('HSET', lock, 'n', n - 1, kind, taken - holder[2])
        redis.call('ZREM', ends, 'h' .. owner)
        return owner
    end
end
