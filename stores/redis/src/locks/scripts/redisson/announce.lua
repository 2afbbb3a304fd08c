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
