local owner, ttl, limits = unpack(ARGV)
local lock, queue, keeps, ends = unpack(KEYS)
local held = redis.pcall('GET', lock)
if not held then return {owner, 'lost'} end
if type(held) == 'string' then
    if string.sub(held, 1, 32) ~= owner then return {owner, 'lost'} end
    local left = redis.call('PTTL', lock)
    if left >= 0 and left < tonumber(ttl) then
        redis.call('PEXPIRE', lock, ttl)
        left = tonumber(ttl)
    end
    return {owner, 'renewed', left, 0}
elseif string.sub(held.err, 1, 9) ~= 'WRONGTYPE' then
    return held
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
