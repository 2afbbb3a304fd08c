local ttl, limits = ARGV[2], ARGV[3]
if held then
    if string.sub(held, 1, 32) ~= owner then return {owner, 'lost'} end
    local left = attempt('PTTL', lock)
    -- It is below zero when somebody made the lock endless.
    if left < tonumber(ttl) then
        attempt('PEXPIRE', lock, ttl)
        left = tonumber(ttl)
    end
    return {owner, 'renewed', left, 0}
end
