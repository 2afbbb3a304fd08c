-- What a key of the plain layout has. It may be long, and of another library.
local function seen(echo, lock)
    local left = attempt('PTTL', lock)
    if left == -2 then return {echo, 'free'} end
    local value = redis.pcall('GETRANGE', lock, 0, 1023)
    if type(value) == 'string' then return {echo, 'taken', value, left} end
    if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return {echo, 'other-type'} end
    return redis.acl_check_cmd('GETRANGE', lock, 0, 1023) and value or refused('GETRANGE')
end
