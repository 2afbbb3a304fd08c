local owner = ARGV[1]
local lock, line, ends = unpack(KEYS)
local held = redis.pcall('GET', lock)
local holders, waiters = {}, {}
if type(held) == 'string' then
    local mark, used, grant, has, label = string.match(held, '^(s?)(%a?)([^ ;]*);?([^ ]*) (.*)$', 33)
    if not grant then return {owner, 'corrupt'} end
    local mode = has ~= '' and 'p ' .. has or mark == 's' and 's' or 'x'
    -- As one without scripts leaves it who keeps the lock taken after letting go.
    local lingers = string.byte(held) == 45 and 1 or 0
    holders[1] = {mode, grant, attempt('PTTL', lock), lingers, label, used, string.sub(held, 1, 32)}
elseif held then
    if string.sub(held.err, 1, 9) ~= 'WRONGTYPE' then
        return redis.acl_check_cmd('GET', lock) and held or refused('GET')
    end
    -- What cannot be read must not look like nobody.
    needs(lock, 1, 'HGET')
    needs(line, 2, 'ZRANGEBYSCORE')
    needs(ends, 2, 'ZRANGE')
    local time = attempt('TIME')
    local now = time[1] * 1000000 + time[2]
    local function show(field)
        local record = redis.pcall('HGET', lock, field)
        if type(record) ~= 'string' then return nil end
        local fine
        fine, record = pcall(cmsgpack.unpack, record)
        if not fine or type(record) ~= 'table' or not record[LABEL] then return nil end
        local mode = record[MODE]
        if mode == 'p' then mode = 'p ' .. record[TAKE] .. ' ' .. record[OF] end
        return record, mode
    end
    -- The head, as far as it can be compared.
    local sole, count = redis.pcall('HGET', lock, 'x'), redis.pcall('HGET', lock, 'n')
    local all = redis.pcall('ZRANGE', ends, 0, -1, 'WITHSCORES')
    -- As format 1 has it of several, and no later one: their ends are not in the head.
    if redis.pcall('HEXISTS', lock, 'till') == 1 and redis.pcall('HEXISTS', lock, 'end') == 0 then
        return {owner, 'format', '1'}
    end
    if not sole or type(count) ~= 'string' or all.err or #all ~= 2 * (tonumber(count) or -1) then
        return {owner, 'corrupt'}
    end
    if sole ~= '' then
        local left = tonumber(redis.call('HGET', lock, 'end') or nil)
        local kind = string.match(sole, '^([hlo])' .. string.rep('%x', 32))
        local used, grant, label = string.match(sole, '^(%a?)([^ ]*) (.*)$', 34)
        if not kind or not left or kind ~= 'o' and not grant then return {owner, 'corrupt'} end
        left = math.floor((left - now) / 1000)
        if kind ~= 'o' and left > 0 then
            local who = string.sub(sole, 2, 33)
            holders[1] = {'x', grant, left, kind == 'l' and 1 or 0, label, used, who}
        end
    end
    for index = 1, #all, 2 do
        local left = all[index + 1] - now
        if left > 0 and string.sub(all[index], 1, 1) == 'h' then
            local record, mode = show(all[index])
            if not record then return {owner, 'corrupt'} end
            left = math.floor(left / 1000)
            local who = string.sub(all[index], 2)
            holders[#holders + 1] = {mode, record[GRANT], left, record[LINGERS], record[LABEL], record[USE] or '', who}
        end
    end
    local places = redis.pcall('ZRANGEBYSCORE', line, '(0', '+inf', 'WITHSCORES')
    if places.err then return {owner, 'corrupt'} end
    for index = 1, #places, 2 do
        local record, mode = show('w' .. string.sub(places[index], 2))
        if places[index + 1] - now > 0 and record then
            local place, since = string.format('%.0f', record[PLACE]), string.format('%.0f', record[SINCE])
            waiters[#waiters + 1] = {mode, place, since, record[LABEL], record[USE] or ''}
        end
    end
end
return {owner, 'seen', holders, waiters}
