local ttl, permits, label = ARGV[2], string.match(ARGV[3], '^;?([^ ]*) (.*)$')
local how, ask, place, channel, limits, old = unpack(ARGV, 4, 9)
if not ask then ask = string.sub(ARGV[1], 33, 33) == 's' and 's' or 'x' end
if permits ~= '' then ask = 'p ' .. permits end
-- What the name is used as: a mutex is not worth a byte.
local use = string.match(ARGV[1], '^s?([^s%A])', 33)
if held then
    local whose, mode = string.sub(held, 1, 32), 'x'
    local mark, used, grant, has, shown = string.match(held, '^(s?)(%a?)([^ ;]*);?([^ ]*) (.*)$', 33)
    if mark == 's' then mode = 's' end
    if has and has ~= '' then mode = 'p ' .. has end
    -- Its holder uses no scripts, and could not go on with what these would make of its record.
    local stays = grant and string.byte(grant, -1) == 33
    -- Permits may stand beside others.
    local both = permits ~= '' and has ~= ''
    if whose == owner then
        if ask == mode then
            return {owner, 'granted', grant, attempt('PTTL', lock), 0}
        elseif ask ~= 's' and not both then
            return {owner, 'mode'}
        end
    elseif whose == old and (ask == 'x' or ask == 's') then
        needs(lock, 1, 'SET')
        local fresh = tick(clock, now)
        if not fresh then return {owner, 'corrupt'} end
        local record = ARGV[1] .. fresh .. ARGV[3]
        redis.call('SET', lock, record, 'PX', ttl)
        return record
    elseif stays or grant and not old and how and string.sub(how, 2) == 't'
        and (ask ~= 's' or mode ~= 's') and not both then
        local left = attempt('PTTL', lock)
        return {owner, 'busy', left * 1000, 0, '', mode, grant, left, 0, shown, used}
    end
end
