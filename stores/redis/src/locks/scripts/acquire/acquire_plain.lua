-- Whatever is at the key has the lock, and is not read here: it may be long, and of another library.
local lock, clock, turns = KEYS[1], KEYS[2], KEYS[3]
local owner = string.sub(ARGV[1], 1, 32)
local time = attempt('TIME')
if attempt('PTTL', lock) ~= -2 then return {owner, 'crowd'} end
if turns and attempt('GET', turns) == 'theirs' then
    return {owner, 'busy', math.max(attempt('PTTL', turns), 1) * 1000, 0, ''}
end
needs(lock, 1, 'SET')
local grant = tick(clock, time[1] * 1000000 + time[2])
if not grant then return {owner, 'corrupt'} end
local record = ARGV[1] .. grant .. ARGV[3]
redis.call('SET', lock, record, 'PX', ARGV[2])
-- For so long holds of tenure may follow each other.
if turns then redis.pcall('SET', turns, 'ours', 'NX', 'PX', 1000) end
return record
