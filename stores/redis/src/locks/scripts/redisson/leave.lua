-- Lets a reader go: the lock lasts as long as the others do. Returns how many heard that it is free.
local function leave(field, mode, verb, channel)
    for _, command in ipairs({'HDEL', 'PEXPIRE', 'DEL'}) do
        needs(lock, command == 'DEL' and 0 or 1, command)
    end
    local count = math.min(tonumber(attempt('HGET', lock, field)) or 0, 1000)
    redis.call('HDEL', lock, field)
    for number = 1, count do redis.call('DEL', leases(field) .. number) end
    local fields, longest = redis.call('HGETALL', lock), -2
    for index = 1, #fields, 2 do
        if fields[index] ~= 'mode' then longest = math.max(longest, lasts(fields[index], fields[index + 1])) end
    end
    if mode == 'write' then return 0 end
    if longest > 0 then
        redis.call('PEXPIRE', lock, longest)
        return 0
    end
    redis.call('DEL', lock)
    return announce(verb, channel, '0')
end
