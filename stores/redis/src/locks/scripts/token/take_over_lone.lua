local ttl, label = ARGV[2], string.match(ARGV[3], '^[^ ]* (.*)$')
local ask, limits, from = unpack(ARGV, 4, 6)
-- What the name is used as: a mutex is not worth a byte.
local use = string.match(ARGV[1], '^s?([^s%A])', 33)
if held then
    local whose = string.sub(held, 1, 32)
    if whose ~= owner and whose ~= from then return {owner, 'not-held'} end
    local mark, grant, has = string.match(held, '^(s?)%a?([^ ;]*);?([^ ]*) ', 33)
    if not grant then return {owner, 'corrupt'} end
    local mode = has ~= '' and 'p ' .. has or mark == 's' and 's' or 'x'
    if ask ~= mode then return {owner, 'mode'} end
    if whose == owner then return {owner, 'granted', grant, attempt('PTTL', lock), 0} end
    needs(lock, 1, 'SET')
    local fresh = tick(clock, now)
    if not fresh then return {owner, 'corrupt'} end
    local record = ARGV[1] .. fresh .. ARGV[3]
    redis.call('SET', lock, record, 'PX', ttl)
    return record
end
-- What is no clock is found before anything changes.
local last = last_time(clock)
if not last then return {owner, 'corrupt'} end
needs(clock, 1, 'SET')
