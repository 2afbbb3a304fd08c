local clock, counter, queue = KEYS[2], KEYS[3], KEYS[4]

-- Why tenure takes no part in this name; nil when it does.
local function unfit(fenced)
    if attempt('EXISTS', queue) == 1 then return 'fair' end
    return not fenced and attempt('EXISTS', counter) == 1 and 'fenced' or nil
end

-- The next number of the fenced lock; nil when its counter is none.
local function count()
    local at = redis.pcall('GET', counter)
    if type(at) == 'table' then
        if string.sub(at.err, 1, 9) == 'WRONGTYPE' then return nil end
        error(redis.acl_check_cmd('GET', counter) and at or refused('GET'))
    end
    -- What begins with a zero is a number here, but not for INCR.
    if at and (not time_of(at) or string.find(at, '^0.')) then return nil end
    needs(counter, 0, 'INCR')
    return '=' .. string.format('%.0f', attempt('INCR', counter))
end

-- What a hold is granted with: a time of our clock, or the next number of the fenced lock; else nil, and why. Writes
-- before all others.
local function grant(fenced)
    if fenced then return count(), 'corrupt' end
    local time = attempt('TIME')
    return tick(clock, time[1] * 1000000 + time[2]), 'corrupt'
end

-- What is answered to one who comes in vain.
local function busy(owner, mode, left)
    local seen = rows(mode, left, 1)
    if not seen then return {owner, 'type'} end
    return {owner, 'busy', left, seen}
end

local function number_of(field, mine)
    return string.match(field, '^%a?(=?%d+):', #mine + 2) or ''
end
