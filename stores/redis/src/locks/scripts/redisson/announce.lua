-- Tells that a lock is free, unless this user may not, and returns how many heard it. In a cluster Redisson's clients
-- listen by one way or by the other.
local function announce(verb, channel, payload)
    local heard = redis.pcall(verb, channel, payload)
    heard = type(heard) == 'number' and heard or 0
    if verb == 'SPUBLISH' then
        local others = redis.pcall('PUBLISH', channel, payload)
        heard = heard + (type(others) == 'number' and others or 0)
    end
    return heard
end

-- The same to who is first in the queue of Redisson's fair lock: it listens on a channel of its own.
local function announce_first(verb, channel, queue)
    local first = redis.pcall('LINDEX', queue, 0)
    if type(first) == 'string' then announce(verb, channel .. ':' .. first, '0') end
end
