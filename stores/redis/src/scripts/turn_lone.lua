local owner, ttl, label, how, ask, place, channel, limits, old = unpack(ARGV)
local lock, clock, queue, keeps, ends = unpack(KEYS)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local held = redis.pcall('GET', lock)
if type(held) == 'table' and string.sub(held.err, 1, 9) ~= 'WRONGTYPE' then
    return held
end
if type(held) == 'string' then
    local whose = string.sub(held, 1, 32)
    if whose == owner and ask == 'x' then
        local grant = string.match(held, '^([^ ]*) ', 33)
        return {owner, 'granted', grant, redis.call('PTTL', lock), 0}
    elseif whose == owner and ask ~= 's' then
        return {owner, 'mode'}
    elseif whose == old and ask == 'x' then
        local last = tonumber(redis.call('GET', clock) or 0) or 0
        local grant = string.format('%.0f', math.max(now, last + 1))
        redis.call('SET', clock, grant)
        redis.call('SET', lock, owner .. grant .. ' ' .. label, 'PX', ttl)
        return {owner, 'granted', grant, tonumber(ttl), 0}
    end
end
