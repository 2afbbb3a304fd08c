-- The time that a clock has; nil when it is none, or the last one that a token can have.
local function time_of(text)
    local at = #text <= 16 and string.find(text, '^%d+$') and tonumber(text)
    return at and at < 9007199254740991 and at or nil
end

-- The time of the last token; nil when the key has something else.
local function last_time(key)
    local last = redis.pcall('GET', key)
    if type(last) == 'table' then
        if string.sub(last.err, 1, 9) == 'WRONGTYPE' then return nil end
        error(redis.acl_check_cmd('GET', key) and last or refused('GET'))
    end
    return last and time_of(last) or not last and 0 or nil
end

-- Moves a clock on and says to what; nil, and the clock as it was, when it is none. Comes before
-- all other writes.
local function tick(key, now)
    now = now + ahead * 1000000
    local fresh = string.format('%.0f', now)
    local last = redis.pcall('SET', key, fresh, 'GET')
    if not last then return fresh end
    if type(last) == 'table' then
        if string.sub(last.err, 1, 9) == 'WRONGTYPE' then return nil end
        error(redis.acl_check_cmd('SET', key, fresh, 'GET') and last or refused('SET'))
    end
    local at = time_of(last)
    if not at then
        redis.call('SET', key, last)
        return nil
    end
    if at >= now then
        fresh = string.format('%.0f', at + 1)
        redis.call('SET', key, fresh)
    end
    return fresh
end
