-- Several names that nobody else has: each is granted as grant.lua grants one, or none is.
local time = attempt('TIME')
local now = time[1] * 1000000 + time[2]
local echo = string.sub(ARGV[1], 1, 32)
local count = #KEYS / 2
local reply, free = {echo, 'granted'}, {}
-- First a look at all of them, which writes nothing.
for index = 1, count do
    local asked, held = ARGV[index * 3 - 2], redis.pcall('GET', KEYS[index * 2 - 1])
    if not held then
        free[#free + 1] = index
    elseif type(held) == 'table' then
        if string.sub(held.err, 1, 9) ~= 'WRONGTYPE' then
            return redis.acl_check_cmd('GET', KEYS[index * 2 - 1]) and held or refused('GET')
        end
        return {echo, 'apart', index - 1}
    else
        local mark, used, grant, has, shown = string.match(held, '^(s?)(%a?)([^ ;]*);?([^ ]*) (.*)$', 33)
        local readers = mark == 's' and string.sub(asked, 33, 33) == 's'
        local ours = string.sub(held, 1, 32) == string.sub(asked, 1, 32)
        -- What is odd, and who may stand beside whom, is for the larger scripts.
        if not grant or ours and (has ~= '' or string.sub(asked, 33) ~= mark .. used)
            or readers and not ours then
            return {echo, 'apart', index - 1}
        end
        local left = attempt('PTTL', KEYS[index * 2 - 1])
        if not ours then
            local mode = has ~= '' and 'p ' .. has or mark == 's' and 's' or 'x'
            return {echo, 'busy', index - 1, mode, grant, left, 0, shown, used}
        end
        reply[index * 2 + 1], reply[index * 2 + 2] = grant, left
    end
end
-- Then the clocks. That one of them moves on without a grant does no harm, so it does not matter
-- that the server takes nothing back: a server out of memory refuses the first write at most, and
-- what is no clock is found here.
for _, index in ipairs(free) do
    local grant = tick(KEYS[index * 2], now)
    if not grant then return {echo, 'corrupt'} end
    reply[index * 2 + 1], reply[index * 2 + 2] = grant, tonumber(ARGV[index * 3 - 1])
end
-- From here on nothing should fail: the keys are free, and the server has let this script write.
-- Should it all the same, the grant is in doubt, so the error must not read as one without effect.
for _, index in ipairs(free) do
    local record = ARGV[index * 3 - 2] .. reply[index * 2 + 1] .. ARGV[index * 3]
    local done = redis.pcall('SET', KEYS[index * 2 - 1], record, 'PX', ARGV[index * 3 - 1])
    if done.err then return redis.error_reply('TORN a joint grant was refused midway') end
end
return reply
