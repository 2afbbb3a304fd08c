-- Only what was shown, as long as it ends by itself.
local found = seen(ARGV[1], KEYS[1])
if found.err then return found end
if found[3] ~= ARGV[2] or found[4] < 0 then return {ARGV[1], 'changed'} end
attempt('DEL', KEYS[1])
redis.pcall('PUBLISH', ARGV[3], KEYS[1])
redis.pcall('PUBLISH', ARGV[4], KEYS[1])
return {ARGV[1], 'evicted'}
