-- The server takes nothing back, and what it says of a command that a user may not run is the same
-- before a write and after one. So the scripts say what came before: NOPERM means that nothing was
-- written.
local function refused(command)
    return redis.error_reply('NOPERM this user may not run ' .. command)
end

-- Reads before the first write, or makes it.
local function attempt(...)
    local reply = redis.pcall(...)
    if type(reply) == 'table' and reply.err then
        error(redis.acl_check_cmd(...) and reply or refused((...)))
    end
    return reply
end

-- Comes before a first write that these may follow: without one of them the lock of others would
-- be left half written. A user may be permitted a command for some keys alone. Newer servers answer
-- for whole commands only, here and elsewhere: with `more` arguments behind the key.
local function needs(key, more, ...)
    local arguments = {'', ''}
    for index = 1, select('#', ...) do
        local command = select(index, ...)
        if not redis.acl_check_cmd(command, key, unpack(arguments, 1, more)) then error(refused(command)) end
    end
end
