local owner, mine, ttl = ARGV[1], ARGV[2], tonumber(ARGV[3])
local left = attempt('PTTL', lock)
local mode = left ~= -2 and mode_of()
if not mode then return {owner, 'lost'} end
local lease = not sole(mine) and leases(mine) .. '1'
if lease then
    local its = attempt('HEXISTS', lock, mine) == 1 and attempt('PTTL', lease) or -2
    if its == -2 then return {owner, 'lost'} end
    -- Each shortens nothing, and ends what somebody made endless.
    if left < ttl then
        needs(lease, 1, 'PEXPIRE')
        attempt('PEXPIRE', lock, ttl)
    end
    if its < ttl then
        attempt('PEXPIRE', lease, ttl)
        its = ttl
    end
    return {owner, 'renewed', its, 0}
end
if left < ttl then
    attempt('PEXPIRE', lock, ttl)
    left = ttl
end
return {owner, 'renewed', left, 0}
