local lock, clock = KEYS[1], KEYS[2]
local owner = string.sub(ARGV[1], 1, 32)
local found = seen(owner, lock)
if found.err then return found end
local held = found[3]
if not held then return {owner, 'not-held'} end
local time = attempt('TIME')
local now = time[1] * 1000000 + time[2]
