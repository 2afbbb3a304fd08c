local owner, keep, limits = unpack(ARGV)
local lock, queue, keeps, ends = unpack(KEYS)
local held = redis.pcall('GET', lock)
if not held then return {owner, 'not-held'} end
if type(held) == 'string' then
    if string.sub(held, 1, 32) ~= owner then return {owner, 'not-held'} end
    if keep == '0' then
        redis.call('DEL', lock)
        return {owner, 'released'}
    end
elseif string.sub(held.err, 1, 9) ~= 'WRONGTYPE' then
    return held
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
