-- The record of the slots that is kept, if there is one; nil where something else is stored, which is
-- of another type or longer than any record.
local function recorded(key, most)
    local text = redis.pcall('GET', key)
    if type(text) == 'table' then
        if string.sub(text.err, 1, 9) == 'WRONGTYPE' then return nil end
        error(redis.acl_check_cmd('GET', key) and text or refused('GET'))
    end
    if text and #text > most then return nil end
    return text
end
