local held = redis.pcall('GET', KEYS[1])
if not held then return {ARGV[1], 'not-held'} end
if type(held) == 'string' then
    if string.sub(held, 1, 32) ~= ARGV[1] then return {ARGV[1], 'not-held'} end
    if not ARGV[2] or ARGV[2] == '0' then
        redis.call('DEL', KEYS[1])
        return ARGV[1]
    end
elseif string.sub(held.err, 1, 9) ~= 'WRONGTYPE' then
    return held
end
local owner, keep, limits = unpack(ARGV)
local lock, queue, keeps, ends = unpack(KEYS)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
