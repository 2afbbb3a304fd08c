-- The usual hand-off, without what the unusual ones need: who alone has the lock lets it go, and
-- the first in line wants it for itself alone. Neither the counts nor the ttls change by that.
if keep == '0' and counts[1] == '1' and counts[2] == '1' and counts[7] and not counts[8] then
    local holds = attempt('ZRANGE', ends, 0, 1, 'WITHSCORES')
    local place = attempt('ZRANGE', keeps, 0, 0, 'WITHSCORES')
    local next_one = attempt('ZRANGE', queue, 0, 0)[1]
    local waiter = next_one and attempt('HGET', lock, 'w' .. next_one)
    waiter = waiter and cmsgpack.unpack(waiter)
    local upto = now + tonumber(string.match(limits, '^%d+'))
    if #holds == 2 and holds[1] == 'h' .. owner and tonumber(holds[2]) > now
        and place[2] and tonumber(place[2]) > now and waiter and waiter[1] == 'x'
        and cmsgpack.unpack(counts[7])[6] == 0 and tonumber(counts[6] or 0) >= upto then
        needs(ends, 'ZADD', 'ZREM')
        -- First what a server out of memory permits; and `ends` must not become empty.
        attempt('HDEL', lock, 'h' .. owner)
        redis.call('ZADD', ends, upto, 'o' .. next_one)
        redis.call('ZREM', ends, 'h' .. owner)
        redis.pcall('PUBLISH', waiter[5], next_one)
        return owner
    end
end
