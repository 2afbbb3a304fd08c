local lock, clock, turns = KEYS[1], KEYS[2], KEYS[3]
local owner = string.sub(ARGV[1], 1, 32)
local found = seen(owner, lock)
if found[2] ~= 'free' then return found end
if turns and attempt('GET', turns) == 'theirs' then
    -- The last second of it is what may follow.
    local left = attempt('PTTL', turns) - 1000
    if left > 0 then return {owner, 'left-free', left} end
end
local time = attempt('TIME')
needs(lock, 1, 'SET')
-- As the next ask that finds it taken will.
needs(lock, 2, 'GETRANGE')
local grant = tick(clock, time[1] * 1000000 + time[2])
if not grant then return {owner, 'corrupt'} end
local record = ARGV[1] .. grant .. ARGV[3]
redis.call('SET', lock, record, 'PX', ARGV[2])
-- For so long holds of tenure may follow each other.
if turns then redis.pcall('SET', turns, 'ours', 'NX', 'PX', 1000) end
return record
