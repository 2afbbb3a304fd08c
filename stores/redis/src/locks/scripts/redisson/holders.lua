-- One hash has all holders of a lock, and a field `mode` if readers can share it. Where tenure has it alone that says
-- `lock`, so that no reader or writer of Redisson's takes the name for a free one.
local lock = KEYS[1]

-- More fields has no lock: those of dead readers stay until the last living one is gone.
local MOST = 65536

-- The mode, or '' where there is none; nil when the key is no lock.
local function mode_of()
    local mode = redis.pcall('HGET', lock, 'mode')
    if type(mode) == 'table' then
        if string.sub(mode.err, 1, 9) == 'WRONGTYPE' then return nil end
        error(redis.acl_check_cmd('HGET', lock, 'mode') and mode or refused('HGET'))
    end
    mode = mode or ''
    local is_one = mode == '' or mode == 'lock' or mode == 'read' or mode == 'write'
    return is_one and attempt('HLEN', lock) <= (mode ~= '' and mode ~= 'lock' and MOST or 2) and mode or nil
end

-- Whether one of several may have a lock of this mode.
local function is_shared(mode) return mode == 'read' or mode == 'write' end

-- What the keys of a reader's leases begin with; it has as many as its field counts.
local function leases(field)
    local named = string.find(lock, '{', 1, true) and lock or '{' .. lock .. '}'
    return named .. ':' .. field .. ':rwlock_timeout:'
end

-- How many leases are looked at by one script.
local budget = 8192

-- For how long a reader still has one of them; not above zero when it has none. Beyond the budget as long as the lock.
local function lasts(field, count)
    local longest, key = -2, leases(field)
    for number = 1, tonumber(count) or 0 do
        if budget == 0 then return attempt('PTTL', lock) end
        budget = budget - 1
        longest = math.max(longest, attempt('PTTL', key .. number))
    end
    return longest
end

-- Whether a field is one of Redisson's or tenure's holders: both begin with a UUID.
local function is_holder(field)
    return string.sub(field, 37, 37) == ':' and string.find(field, '^%x+%-%x+%-%x+%-%x+%-%x+:') ~= nil
end

-- The holders and their counts; nil when something else is among them.
local function holders(mode)
    local seen = {}
    for _, field in ipairs(is_shared(mode) and {} or attempt('HKEYS', lock)) do
        if field ~= 'mode' then
            local short = is_holder(field) and attempt('HSTRLEN', lock, field) <= 20
            seen[#seen + 1] = {field, short and attempt('HGET', lock, field) or ''}
        end
    end
    local fields = is_shared(mode) and attempt('HGETALL', lock) or {}
    for index = 1, #fields, 2 do
        if fields[index] ~= 'mode' then seen[#seen + 1] = {fields[index], fields[index + 1]} end
    end
    for _, holder in ipairs(seen) do
        if not is_holder(holder[1]) or not string.find(holder[2], '^%d+$') then return nil end
    end
    return #seen > 0 and seen or nil
end

-- The field of one who has the lock alone, and whose fields begin with `mine`.
local function sole(mine)
    if attempt('HLEN', lock) > 2 then return nil end
    for _, field in ipairs(attempt('HKEYS', lock)) do
        if string.sub(field, 1, #mine + 1) == mine .. ':' then return field end
    end
end

-- A row for each holder: its field, what is left, how it holds, and what is kept of a reader of tenure. Nil when the
-- key is no lock.
local function rows(mode, left, most)
    local all, seen = holders(mode), {}
    for _, holder in ipairs(all or {}) do
        local field = holder[1]
        if #seen >= most then break end
        if not is_shared(mode) or string.sub(field, -6) == ':write' then
            seen[#seen + 1] = {field, left, is_shared(mode) and 'w' or 'x', ''}
        else
            local its = lasts(field, holder[2])
            local ours = its > 0 and string.sub(field, 37) == ':tenure'
            if its > 0 then seen[#seen + 1] = {field, its, 's', ours and attempt('GET', leases(field) .. '1') or ''} end
        end
    end
    return all and seen
end
