-- One hash has all holders of a lock, and a field `mode` if it is one for readers and writers.
local lock = KEYS[1]

-- The mode, or '' where there is none; nil when the key is no hash.
local function mode_of()
    local mode = redis.pcall('HGET', lock, 'mode')
    if type(mode) == 'table' then
        if string.sub(mode.err, 1, 9) == 'WRONGTYPE' then return nil end
        error(redis.acl_check_cmd('HGET', lock, 'mode') and mode or refused('HGET'))
    end
    return mode or ''
end

-- What the keys of a reader's leases begin with; it has as many as its field counts.
local function leases(field)
    local named = string.find(lock, '{', 1, true) and lock or '{' .. lock .. '}'
    return named .. ':' .. field .. ':rwlock_timeout:'
end

-- For how long a reader still has one of them; not above zero when it has none.
local function lasts(field, count)
    local longest, key = -2, leases(field)
    for number = 1, math.min(tonumber(count) or 0, 1000) do
        longest = math.max(longest, attempt('PTTL', key .. number))
    end
    return longest
end

-- The field of one who has the lock alone, and whose fields begin with `mine`.
local function sole(mine)
    if attempt('HLEN', lock) > 2 then return nil end
    for _, field in ipairs(attempt('HKEYS', lock)) do
        if string.sub(field, 1, #mine + 1) == mine .. ':' then return field end
    end
end

-- A row for each holder: its field, what is left, how it holds, and what is kept of a reader of tenure. Nil when
-- there are more than a lock has.
local function rows(mode, left, most)
    if attempt('HLEN', lock) > 4096 then return nil end
    local fields, seen = attempt('HGETALL', lock), {}
    for index = 1, #fields, 2 do
        local field, count = fields[index], fields[index + 1]
        if #seen >= most then
            break
        elseif field == 'mode' then
        elseif mode == '' or string.sub(field, -6) == ':write' then
            seen[#seen + 1] = {field, left, mode == '' and 'x' or 'w', ''}
        else
            local its = lasts(field, count)
            local ours = string.sub(field, 37) == ':tenure'
            local record = its > 0 and ours and attempt('GET', leases(field) .. '1') or ''
            if its > 0 then seen[#seen + 1] = {field, its, 's', record} end
        end
    end
    return seen
end
