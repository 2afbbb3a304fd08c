local owner, mine, ttl, longest = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local left = attempt('PTTL', lock)
local mode = left ~= -2 and mode_of()
if not mode then return {owner, 'lost'} end
if is_shared(mode) then ttl = math.min(ttl, longest) end
-- It shortens nothing, and ends what somebody made endless.
if sole(mine) then
    if left < ttl then
        attempt('PEXPIRE', lock, ttl)
        left = ttl
    end
    return {owner, 'renewed', is_shared(mode) and math.min(left, longest) or left, 0}
end
local lease = leases(mine) .. '1'
local its = attempt('HEXISTS', lock, mine) == 1 and attempt('PTTL', lease) or -2
if its == -2 then return {owner, 'lost'} end
ttl = math.max(its, ttl)
if left < ttl then
    needs(lease, 1, 'PEXPIRE')
    attempt('PEXPIRE', lock, ttl)
end
if its < ttl then attempt('PEXPIRE', lease, ttl) end
return {owner, 'renewed', math.min(ttl, longest), 0}
