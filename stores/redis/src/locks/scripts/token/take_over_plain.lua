local lock, clock, from = KEYS[1], KEYS[2], ARGV[4]
local owner = string.sub(ARGV[1], 1, 32)
local found = seen(owner, lock)
local held = found[3]
if found.err then return found end
local whose = held and string.sub(held, 1, 32)
if not held or whose ~= owner and whose ~= from then return {owner, 'not-held'} end
local mark, grant, has = string.match(held, '^(s?)%a?([^ ;]*);?([^ ]*) ', 33)
if not grant then return {owner, 'corrupt'} end
if mark ~= '' or has ~= '' then return {owner, 'mode'} end
if whose == owner then return {owner, 'granted', grant, found[4], 0} end
local time = attempt('TIME')
needs(lock, 1, 'SET')
local fresh = tick(clock, time[1] * 1000000 + time[2])
if not fresh then return {owner, 'corrupt'} end
local record = ARGV[1] .. fresh .. ARGV[3]
redis.call('SET', lock, record, 'PX', ARGV[2])
return record
