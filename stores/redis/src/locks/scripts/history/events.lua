-- What a list has from one element to another; nil where something else is stored.
local function elements(key, first, last)
    local found = redis.pcall('LRANGE', key, first, last)
    if not found.err then return found end
    if string.sub(found.err, 1, 9) == 'WRONGTYPE' then return nil end
    error(redis.acl_check_cmd('LRANGE', key, first, last) and found or refused('LRANGE'))
end

-- When the event in an element happened; nil where it is no event.
local function time_of(element, longest)
    return #element <= longest and tonumber(string.match(element, '^(%d+) ')) or nil
end
