local owner, ttl, label, how, ask, place, channel, limits = unpack(ARGV)
ask = ask or 'x'
local lock, clock, queue, keeps, ends = unpack(KEYS)
local old = false
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local held
if ask == 'x' then
    local grant = string.format('%.0f', now)
    held = redis.pcall('SET', lock, owner .. grant .. ' ' .. label, 'NX', 'PX', ttl, 'GET')
    if not held then
        local last = redis.pcall('SET', clock, grant, 'GET')
        if type(last) == 'table' then
            redis.call('DEL', lock)
            return {owner, 'corrupt'}
        end
        last = tonumber(last or 0) or 0
        if last >= now then
            grant = string.format('%.0f', last + 1)
            redis.call('SET', clock, grant)
            redis.call('SET', lock, owner .. grant .. ' ' .. label, 'PX', ttl)
        end
        return {owner, 'granted', grant, tonumber(ttl), 0}
    end
else
    held = redis.pcall('GET', lock)
end
if type(held) == 'table' and string.sub(held.err, 1, 9) ~= 'WRONGTYPE' then
    return held
end
if type(held) == 'string' then
    if string.sub(held, 1, 32) == owner then
        if ask == 'x' then
            local grant = string.match(held, '^([^ ]*) ', 33)
            return {owner, 'granted', grant, redis.call('PTTL', lock), 0}
        elseif ask ~= 's' then
            return {owner, 'mode'}
        end
    elseif string.sub(how, 2) == 't' then
        local grant, whose = string.match(held, '^([^ ]*) (.*)$', 33)
        local left = redis.call('PTTL', lock)
        return {owner, 'busy', left * 1000, 0, '', 'x', grant, left, 0, whose}
    end
end
