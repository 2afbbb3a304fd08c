local lock, owner, ttl = KEYS[1], ARGV[1], tonumber(ARGV[2])
local held = redis.pcall('GETRANGE', lock, 0, 31)
if type(held) == 'table' then
    if string.sub(held.err, 1, 9) == 'WRONGTYPE' then return {owner, 'lost'} end
    return redis.acl_check_cmd('GETRANGE', lock, 0, 31) and held or refused('GETRANGE')
end
if held ~= owner then return {owner, 'lost'} end
-- It shortens nothing, and ends what somebody made endless.
local left = attempt('PTTL', lock)
if left < ttl then
    attempt('PEXPIRE', lock, ARGV[2])
    left = ttl
end
return {owner, 'renewed', left, 0}
