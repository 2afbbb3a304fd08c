local owner, limits = unpack(ARGV)
local lock, queue, keeps, ends = unpack(KEYS)
local held = redis.pcall('GET', lock)
if not held then return {owner, 'evicted'} end
if type(held) == 'string' then
    local mark, grant, label = string.match(held, '^(s?)([^ ]*) (.*)$', 33)
    local left = redis.call('PTTL', lock)
    redis.call('DEL', lock)
    return {owner, 'evicted', {mark == 's' and 's' or 'x', grant, left, 0, label}}
elseif string.sub(held.err, 1, 9) ~= 'WRONGTYPE' then
    return held
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
