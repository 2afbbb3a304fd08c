-- Lets a reader go: the lock lasts as long as the others do. Returns how many heard that it is free.
local function leave(field, mode, verb, channel)
    local count, longest, all = 0, -2, holders(mode)
    for _, other in ipairs(all or {}) do
        if other[1] == field then
            count = math.min(tonumber(other[2]) or 0, 1000)
        else
            longest = math.max(longest, lasts(other[1], other[2]))
        end
    end
    needs(lock, 1, 'HDEL', 'PEXPIRE')
    needs(lock, 0, 'DEL')
    local lease = leases(field) .. '1'
    needs(lease, 0, 'DEL')
    redis.call('HDEL', lock, field)
    for number = 1, count do redis.call('DEL', leases(field) .. number) end
    -- What has other fields is not all ours to delete.
    if mode == 'write' or not all then return 0 end
    if longest > 0 then
        redis.call('PEXPIRE', lock, longest)
        return 0
    end
    redis.call('DEL', lock)
    return announce(verb, channel, '0')
end
