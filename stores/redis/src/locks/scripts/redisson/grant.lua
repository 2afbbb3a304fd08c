local clock, counter, queue = KEYS[2], KEYS[3], KEYS[4]

-- What a hold is granted with: a time of our clock, or the next number of the fenced lock; else nil, and why. Writes
-- before all others.
local function grant(fenced)
    if attempt('EXISTS', queue) == 1 then return nil, 'fair' end
    if not fenced then
        if attempt('EXISTS', counter) == 1 then return nil, 'fenced' end
        local time = attempt('TIME')
        local fresh = tick(clock, time[1] * 1000000 + time[2])
        return fresh, 'corrupt'
    end
    needs(counter, 0, 'INCR')
    local number = redis.pcall('INCR', counter)
    if type(number) == 'table' then
        local says = string.sub(number.err, 1, 9)
        if says == 'WRONGTYPE' or says == 'ERR value' then return nil, 'corrupt' end
        error(number)
    end
    return '=' .. string.format('%.0f', number)
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
